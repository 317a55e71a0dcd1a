// A comparison as JSON.
#include <nlohmann/json.hpp>

#include <cmath>

#include "core/cli/comparison_report.h"
#include "core/compare/explanation.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

template <class Q>
Json json(const Compared<Q>& value) {
  Json result;
  const auto side = [&](const char* name, const Sampled<Q>& of) {
    result[name] = of.steps > 0 ? Json(number(of.median)) : Json();
    if (of.steps > 1) result[std::string("spread_") + name] = number(of.spread);
  };
  side("a", value.a);
  side("b", value.b);
  const auto deviation = value.deviation();
  const bool both = value.a.steps > 0 && value.b.steps > 0;
  result["deviation"] = both && deviation ? Json(*deviation) : Json();
  return result;
}

Json json(const RunSide& side, const std::string& file) {
  return {{"file", file},
          {"role", is_prediction(side.header) ? "prediction" : "measurement"},
          {"backend", side.header.backend},
          {"fidelity", side.header.fidelity},
          {"model", side.header.model},
          {"cluster", side.header.cluster},
          {"plan", side.header.plan},
          {"scenario_digest", side.header.scenario_digest},
          {"steps", side.steps},
          {"warmup_steps", side.warmup_steps},
          {"ranks", side.ranks},
          {"recorded_ranks", side.recorded},
          {"spans", side.spans}};
}

Json json(const TaskKindKey& kind) {
  return {{"name", kind.name}, {"phase", name(kind.phase)}, {"lane", name(kind.lane)}};
}

Json json(const Sameness& same) {
  Json settings = Json::array();
  for (const Setting& setting : same.settings)
    settings.push_back({{"key", setting.key}, {"a", setting.a}, {"b", setting.b}});
  return {{"scenario", same.scenario},
          {"model", same.model},
          {"cluster", same.cluster},
          {"plan", same.plan},
          {"settings", settings}};
}

Json missing(const std::vector<MissingKind>& kinds) {
  Json result = Json::array();
  for (const MissingKind& kind : kinds) {
    Json entry = json(kind.kind);
    entry["tasks"] = kind.tasks;
    entry["ranks"] = kind.ranks;
    result.push_back(entry);
  }
  return result;
}

void add_times(const Comparison& comparison, Json& result) {
  result["step_time_s"] = json(comparison.step);
  for (std::size_t i = 0; i < comparison.parts.size(); ++i)
    result["parts"][std::string(key(static_cast<Activity>(i)))] = json(comparison.parts[i]);
  result["bubble_fraction"] = json(comparison.bubble);
  result["overlap_share"] = json(comparison.overlap);
  result["axes"] = Json::object();
  for (const AxisTime& axis : comparison.axes)
    result["axes"][std::string(name(axis.axis))] = {
        {"total_s", json(axis.total)}, {"exposed_s", json(axis.exposed)}, {"hidden_s", json(axis.hidden)}};
  result["lanes"] = Json::object();
  for (const LaneTime& lane : comparison.lanes) result["lanes"][std::string(name(lane.lane))] = json(lane.busy);
  result["stages"] = Json::array();
  for (const StageTime& stage : comparison.stages)
    result["stages"].push_back(
        {{"stage", stage.stage}, {"compute_s", json(stage.compute)}, {"peak_bytes", json(stage.peak)}});
  result["kinds"] = Json::array();
  for (const KindTime& kind : comparison.kinds) {
    Json entry = json(kind.kind);
    entry["tasks_a"] = kind.tasks_a;
    entry["tasks_b"] = kind.tasks_b;
    entry["time_s"] = json(kind.time);
    result["kinds"].push_back(entry);
  }
}

Json json_of_explanations(const Comparison& comparison) {
  Json result = Json::array();
  for (const Explanation& explanation : comparison.explanations) {
    Json entry{{"text", text(explanation, comparison)}, {"activity", name(explanation.activity)}};
    if (!explanation.kind.name.empty()) entry.update(json(explanation.kind));
    entry["change_s"] = explanation.time.change().value;
    result.push_back(entry);
  }
  return result;
}

}  // namespace

std::string comparison_json(const Comparison& comparison, const std::string& file_a,
                            const std::string& file_b) {
  Json result;
  result["a"] = json(comparison.a, file_a);
  result["b"] = json(comparison.b, file_b);
  result["same"] = json(comparison.same);
  add_times(comparison, result);
  result["memory"]["peak_bytes"] = json(comparison.memory.total);
  result["memory"]["resident_bytes"] = json(comparison.memory.resident);
  for (std::size_t i = 0; i < comparison.memory.classes.size(); ++i)
    result["memory"][std::string(name(static_cast<BufferClass>(i)))] = json(comparison.memory.classes[i]);
  result["losses"] = {{"steps", comparison.losses.steps},
                      {"equal", comparison.losses.equal},
                      {"largest_difference", comparison.losses.largest}};
  result["explanations"] = json_of_explanations(comparison);
  result["tasks"] = {{"matched", comparison.tasks.size()},
                     {"spans_matched_a", comparison.spans_matched_a},
                     {"spans_matched_b", comparison.spans_matched_b},
                     {"only_a", missing(comparison.only_a)},
                     {"only_b", missing(comparison.only_b)}};
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tandem
