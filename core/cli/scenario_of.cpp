// File, flags and pasted Megatron-LM arguments become one scenario.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/cli/run_context.h"
#include "core/scenario/keys.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string scenario_path(const Arguments& arguments, const Library& library) {
  if (arguments.operands.empty()) return "";
  const std::string& typed = arguments.operands.front();
  if (std::string found = find_scenario(typed, library); !found.empty()) return found;
  std::vector<std::string> shipped;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(library.folder, error))
    if (entry.path().extension() == ".toml") shipped.push_back(entry.path().stem().string());
  const std::string near = typed.size() <= 200 ? nearest_name(typed, shipped) : "";
  refuse({}, fmt::format("{}: neither a file nor a shipped scenario", text(KeyValue{typed})),
         near.empty() ? "" : fmt::format("did you mean {}?", near));
}

bool gives(const Arguments& arguments, std::string_view key) {
  return std::any_of(arguments.overrides.begin(), arguments.overrides.end(), [&](const Override& each) {
    const Key* known = find_key(each.key);
    return known != nullptr ? known->name == key : each.key == key;
  });
}

std::optional<std::int64_t> count_of(const Arguments& arguments, std::initializer_list<const char*> names,
                                     Problems& problems) {
  for (const char* name : names) {
    const auto found = arguments.megatron.nodes.find(name);
    if (found == arguments.megatron.nodes.end()) continue;
    const std::string& typed = found->second.text;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
    if (error == std::errc() && end == typed.data() + typed.size() && number >= 1) return number;
    // torchrun takes "gpu" and shell variables, which say nothing about the machine meant.
    if (!typed.empty() && std::isdigit(static_cast<unsigned char>(typed[0])) != 0)
      problems.add(found->second.where,
                   fmt::format("{} {}: a number of nodes or processes is wanted", name, typed));
  }
  return std::nullopt;
}

// torchrun's numbers must be those of the cluster.
void compare_nodes(const Scenario& scenario, std::optional<std::int64_t> nodes,
                   std::optional<std::int64_t> processes, Problems& problems) {
  std::int64_t have = 0;
  for (const NodeGroupSpec& group : scenario.cluster.groups) have += group.count;
  if (nodes && *nodes != have)
    problems.add({},
                 fmt::format("--nnodes {} contradicts the cluster {}, which has {}", *nodes,
                             scenario.cluster.name, have),
                 "give the cluster as PRESET:NODES");
  for (const NodeGroupSpec& group : scenario.cluster.groups)
    if (processes && *processes != group.type.devices) {
      problems.add({}, fmt::format("--nproc-per-node {} contradicts {}, whose nodes have {} devices",
                                   *processes, group.type.id, group.type.devices));
      return;
    }
}

std::string listed(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

Scenario scenario_of(const Arguments& arguments, const Library& library) {
  Problems problems;
  const std::string path = scenario_path(arguments, library);
  std::vector<Override> overrides = arguments.overrides;
  const bool from_flags = path.empty() && !arguments.has_model;
  if (path.empty() && !arguments.has_model && arguments.megatron.model.empty() && !arguments.has_cluster &&
      overrides.empty())
    refuse({}, "no scenario is given",
           fmt::format("tandem {0} SCENARIO.toml, or tandem {0} --model MODEL --cluster CLUSTER",
                       arguments.command->name));
  if (from_flags && !arguments.megatron.model.empty()) {
    if (const auto config = config_from_flags(arguments.megatron.model, problems))
      overrides.insert(overrides.end(),
                       {{"model.config", *config, {}}, {"model.name", "model of the flags", {}}});
    problems.throw_if_any();
  }
  const auto nodes = count_of(arguments, {"--nnodes"}, problems);
  const auto processes = count_of(arguments, {"--nproc-per-node", "--nproc_per_node"}, problems);
  const bool counted = arguments.has("--nodes") || gives(arguments, "cluster.nodes") ||
                       gives(arguments, "nodes") || arguments.value("--cluster").find(':') != std::string::npos;
  if (nodes && !counted && arguments.has_cluster) overrides.push_back({"nodes", fmt::format("{}", *nodes), {}});
  const bool script_without_dtype =
      arguments.has("--megatron-args") && !gives(arguments, "dtype") &&
      std::none_of(arguments.megatron.overrides.begin(), arguments.megatron.overrides.end(),
                   [](const Override& each) { return each.key == "dtype"; });
  for (const Override& each : arguments.megatron.overrides) {
    // Megatron-LM itself wants --bf16 beside --fp8-format: the narrower one decides.
    const bool fp8_decides =
        each.key == "dtype" && each.value != "fp8" &&
        std::any_of(arguments.megatron.overrides.begin(), arguments.megatron.overrides.end(),
                    [](const Override& other) { return other.key == "dtype" && other.value == "fp8"; });
    if (!fp8_decides) overrides.push_back(each);
  }
  if (script_without_dtype) overrides.push_back({"dtype", "fp32", {}});
  Scenario scenario = read_scenario(path, overrides, library);
  if (!from_flags || arguments.megatron.model.empty())
    compare_with_flags(arguments.megatron.model, scenario.model, problems);
  if (nodes || processes) compare_nodes(scenario, nodes, processes, problems);
  problems.throw_if_any();
  if (script_without_dtype)
    scenario.remarks.push_back("neither --bf16 nor --fp16 is given: fp32, as Megatron-LM would train");
  if (!arguments.megatron.not_modelled.empty())
    scenario.remarks.push_back("not modelled, though they bear on time or memory: " +
                               listed(arguments.megatron.not_modelled));
  if (!arguments.megatron.without_effect.empty())
    scenario.remarks.push_back("without effect on a prediction: " + listed(arguments.megatron.without_effect));
  return scenario;
}

}  // namespace tandem
