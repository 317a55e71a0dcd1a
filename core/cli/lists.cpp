// tandem models, clusters, schedules: what there is to choose from.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/cli/run_context.h"
#include "core/model/find_model.h"
#include "core/plan/draw_schedule.h"
#include "core/plan/schedule.h"
#include "core/units/text.h"

namespace tandem {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using nlohmann::ordered_json;

std::string wanted(const RunContext& run) {
  std::string word = run.arguments.operands.empty() ? "" : run.arguments.operands.front();
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

bool matches(const std::string& word, std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find(word) != std::string::npos;
}

std::string or_dash(double value, const std::string& text) { return value > 0 ? text : "-"; }

std::string price_of(const DeviceKind& device) {
  return device.price ? fmt::format("${:.2f} ({})", device.price->usd_per_device_hour(), device.price->date)
                      : "-";
}

std::string wire(const NodeType& type) {
  std::string text = type.intra_link.empty() ? "-" : type.intra_link;
  if (type.ports > 0) text += fmt::format(", {} x {}", type.ports, type.network);
  return text;
}

void list_devices(const Catalog& catalog, const std::string& word, Output& out) {
  Rows rows{{"device", "bf16 dense", "memory", "bandwidth", "power", "a device-hour"}};
  for (const auto& [id, device] : catalog.devices) {
    if (!matches(word, id + " " + device.name)) continue;
    const auto bf16 = device.peak.find(DType::Bf16);
    rows.push_back({id, bf16 == device.peak.end() ? "-" : text(bf16->second),
                    or_dash(device.memory.value, text(device.memory)),
                    or_dash(device.memory_bandwidth.value, text(device.memory_bandwidth)),
                    or_dash(device.power.value, text(device.power)), price_of(device)});
  }
  if (rows.size() == 1) return;
  out.line();
  out.line(out.styled("devices", Style::Title) + "  --cluster DEVICE:NUMBER takes nodes that have them");
  out.add(table(rows, {false, true, true, true, true, false}));
}

void list_links(const Catalog& catalog, const std::string& word, Output& out) {
  Rows rows{{"link", "one direction", "latency", "name"}};
  for (const auto& [id, link] : catalog.links)
    if (matches(word, id + " " + link.name))
      rows.push_back({id, text(link.bandwidth), or_dash(link.latency.value, text(link.latency)), link.name});
  if (rows.size() == 1) return;
  out.line();
  out.line(out.styled("links", Style::Title));
  out.add(table(rows, {false, true, true, false}));
}

}  // namespace

int run_models(RunContext& run) {
  const std::string word = wanted(run);
  Rows rows{{"model", "parameters", "active", "layers", "width", "type"}};
  ordered_json list = ordered_json::array();
  for (const std::string& id : list_models(run.scenarios)) {
    if (!matches(word, id)) continue;
    const ModelSpec spec = read_model(find_model(id, run.scenarios));
    const ModelGraph graph = build_model(spec);
    const auto total = static_cast<double>(graph.total_parameters()),
               active = static_cast<double>(graph.active_parameters());
    const std::int64_t layers = spec.num_hidden_layers + spec.encoder_layers;
    rows.push_back({id, text_count(total), graph.has_experts() ? text_count(active) : "",
                    fmt::format("{}", layers), fmt::format("{}", spec.hidden_size), spec.model_type});
    list.push_back({{"id", id},
                    {"parameters", graph.total_parameters()},
                    {"active_parameters", graph.active_parameters()},
                    {"layers", layers},
                    {"hidden_size", spec.hidden_size},
                    {"model_type", spec.model_type}});
  }
  if (run.arguments.has("--json"))
    run.out.line(list.dump(2));
  else
    run.out.add(table(rows, {false, true, true, true, true, false}, ""));
  return 0;
}

int run_clusters(RunContext& run) {
  const std::string word = wanted(run);
  const Catalog catalog = read_library(run.scenarios).catalog;
  if (run.arguments.has("--json")) {
    ordered_json list = ordered_json::array();
    for (const auto& [id, preset] : catalog.presets) {
      const NodeType& type = catalog.node_types.at(preset.node_type);
      if (matches(word, id + " " + preset.name))
        list.push_back({{"id", id},
                        {"name", preset.name},
                        {"device", type.device},
                        {"devices_per_node", type.devices},
                        {"default_nodes", preset.default_nodes},
                        {"fabric", std::string(name(preset.fabric.kind))}});
    }
    run.out.line(list.dump(2));
    return 0;
  }
  Rows rows{{"preset", "a node", "wires", "fabric", "name"}};
  for (const auto& [id, preset] : catalog.presets) {
    if (!matches(word, id + " " + preset.name)) continue;
    const NodeType& type = catalog.node_types.at(preset.node_type);
    rows.push_back({id, fmt::format("{} x {}", type.devices, type.device), wire(type),
                    std::string(name(preset.fabric.kind)), preset.name});
  }
  run.out.line(run.out.styled("presets", Style::Title) + "  --cluster PRESET:NODES");
  run.out.add(table(rows, {false, false, false, false, false}));
  list_devices(catalog, word, run.out);
  list_links(catalog, word, run.out);
  return 0;
}

int run_schedules(RunContext& run) {
  const std::string word = wanted(run);
  const auto stages = static_cast<std::uint32_t>(run.arguments.number("--pp", 1, 64).value_or(4));
  const auto microbatches =
      static_cast<std::uint32_t>(run.arguments.number("--microbatches", 1, 4096).value_or(8));
  const std::size_t width =
      static_cast<std::size_t>(run.arguments.number("--width", 20, 10000).value_or(run.surroundings.columns));
  for (const ScheduleKind kind :
       {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
        ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe}) {
    if (!matches(word, std::string(name(kind)))) continue;
    const bool two_chunks = kind == ScheduleKind::Interleaved || kind == ScheduleKind::ZeroBubbleV;
    const ScheduleShape shape{
        .stages = stages, .microbatches = microbatches, .chunks_per_stage = two_chunks ? 2u : 1u};
    run.out.add(run.out.styled(name(kind), Style::Bold));
    if (const std::string misfit = schedule_misfit(kind, shape); !misfit.empty()) {
      run.out.line("  " + misfit);
      run.out.line();
      continue;
    }
    const Schedule schedule = make_schedule(kind, shape);
    std::uint32_t most = 0;
    for (std::uint32_t stage = 0; stage < stages; ++stage)
      most = std::max(most, peak_in_flight(schedule, StageId(stage)));
    run.out.line(fmt::format("  idle {:.1f} %, at most {} chunks of activations on a stage",
                             100 * ideal_bubble_fraction(schedule), most));
    run.out.add(draw(schedule, width));
    run.out.line();
  }
  return 0;
}

}  // namespace tandem
