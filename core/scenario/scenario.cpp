// Reads a scenario: parses the file, lays the overrides over it, reads its sections, reports all faults at
// once.
#include "core/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "core/cluster/table_reader.h"
#include "core/scenario/sections.h"
#include "core/scenario/shorthand.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_scenario_bytes = 4u << 20;

void refuse_unknown_sections(const toml::table& root, ReadContext& context) {
  static const std::vector<std::string> known = {"model", "cluster", "plan", "training", "simulation", "cost"};
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const Where where = context.where(name, key);
    if (const Key* inner = find_key(name)) {
      context.problems.add(where, fmt::format("{} stands outside every section", name),
                           fmt::format("it belongs under [{}]", tandem::name(inner->section)));
      continue;
    }
    const std::string near = name.size() <= 200 ? nearest_name(name, known) : "";
    context.problems.add(where,
                         fmt::format("unknown {} {}", node.is_table() ? "section" : "key", shown_key(name)),
                         near.empty() ? "sections are model, cluster, plan, training, simulation and cost"
                                      : fmt::format("did you mean [{}]?", near));
  }
}

// In the order of the file. With overrides, a place without a line is no place in the file: the value was
// typed.
Problems in_order(const Problems& problems, const std::string& file, bool overrides) {
  std::vector<Problem> list = problems.list();
  for (Problem& problem : list)
    if (overrides && problem.where.file == file && problem.where.line == 0) problem.where = {};
  std::stable_sort(list.begin(), list.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.where.file, a.where.line, a.where.column) <
           std::tie(b.where.file, b.where.line, b.where.column);
  });
  Problems ordered;
  for (Problem& problem : list) ordered.add(std::move(problem));
  return ordered;
}

}  // namespace

Where ReadContext::where(const std::string& path, const toml::key& key) const {
  if (const auto typed = overridden.find(path); typed != overridden.end()) return typed->second;
  const toml::source_position place = key.source().begin;
  return {file, static_cast<int>(place.line), static_cast<int>(place.column)};
}

KeyValue value_of(const toml::node& node) {
  if (const auto* b = node.as_boolean()) return {b->get()};
  if (const auto* n = node.as_integer()) return {n->get()};
  if (const auto* x = node.as_floating_point()) return {x->get()};
  if (const auto* s = node.as_string()) return {s->get()};
  if (const auto* array = node.as_array()) {
    KeyValue::List list;
    for (const toml::node& item : *array) {
      if (item.is_array()) return {};
      list.push_back(value_of(item));
    }
    return {list};
  }
  return {};
}

std::string shown_key(std::string_view key) {
  const bool plain =
      !key.empty() && key.size() <= 60 &&
      key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
          std::string_view::npos;
  return plain ? std::string(key) : text(KeyValue{std::string(key)});
}

const toml::table* section_table(const toml::table& root, std::string_view name, ReadContext& context) {
  const auto found = root.find(name);
  if (found == root.end()) return nullptr;
  if (!found->second.is_table())
    context.problems.add(context.where(std::string(name), found->first),
                         fmt::format("{} = {}: a section is wanted", name, text(value_of(found->second))),
                         fmt::format("write [{}]", name));
  return found->second.as_table();
}

std::string_view name(PlayLevel level) {
  switch (level) {
    case PlayLevel::Estimate:
      return "estimate";
    case PlayLevel::Fused:
      return "fused";
    case PlayLevel::Folded:
      return "folded";
    case PlayLevel::Replicas:
      return "replicas";
    case PlayLevel::Full:
      return "full";
  }
  return "?";
}

Library read_library(const std::string& folder) {
  return {folder, read_catalog((fs::path(folder) / "clusters").string())};
}

std::string find_scenario(const std::string& typed, const Library& library) {
  std::error_code error;
  if (fs::exists(typed, error)) return typed;
  const fs::path shipped = fs::path(library.folder) / (typed + ".toml");
  const bool plain = typed.find('/') == std::string::npos && typed.size() < 200;
  return plain && fs::is_regular_file(shipped, error) ? shipped.string() : "";
}

Scenario parse_scenario(const std::string& toml_text, const std::string& path,
                        const std::vector<Override>& overrides, const Library& library) {
  toml::table root = parse_toml(toml_text, path);
  ReadContext context{.file = path, .problems = {}, .overridden = {}};
  Scenario scenario;
  scenario.path = path;
  apply_overrides(root, overrides, context);
  refuse_unknown_sections(root, context);
  read_keys(root, scenario, context);
  read_model_section(root, scenario, library, context);
  read_cluster_section(root, scenario, library, context);
  if (context.problems.empty()) resolve_shorthand(scenario, context.problems);
  in_order(context.problems, path, !overrides.empty()).throw_if_any();
  scenario.name =
      path.empty() ? scenario.model.name + " on " + scenario.cluster.name : fs::path(path).stem().string();
  return scenario;
}

Scenario read_scenario(const std::string& path, const std::vector<Override>& overrides,
                       const Library& library) {
  return parse_scenario(path.empty() ? "" : read_text_file(path, most_scenario_bytes), path, overrides,
                        library);
}

}  // namespace tandem
