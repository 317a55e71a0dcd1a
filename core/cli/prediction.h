// A scenario becomes a record of one predicted step, with the summary that reports and --json show.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cli/cli.h"
#include "core/cluster/cluster.h"
#include "core/plan/plan.h"
#include "core/record/breakdown.h"
#include "core/record/run_record.h"
#include "core/scenario/scenario.h"

namespace tandem {

// A scenario with everything that can be known before a step is played. Making one reports all problems.
struct Prepared {
  ModelGraph model;
  Cluster cluster;
  Plan plan;
};
Prepared prepare(const Scenario&);

// Constants of the scenario's calibration, or the shipped ones of `scenarios`.
CostModel cost_model_of(const Scenario&, const Cluster&, const std::string& scenarios);

struct PredictOptions {
  Simulate simulate;                                                  // for every fidelity but estimate
  std::function<bool(std::string_view what, double share)> progress;  // false stops
  bool texts = true;  // labels and details of tasks, which only a record that is kept needs
};

// The record's summary has the stable keys of --json; a key whose value is not known is absent. Nothing when
// `progress` stopped it. Throws InputError for what prepare() reports.
std::optional<RunRecord> predict(const Scenario&, const std::string& scenarios, const PredictOptions&);

// Memory of a recorded rank when it holds most, beside its device's.
struct StageMemory {
  std::uint32_t stage = 0;
  RankId rank;
  Seconds when;
  std::array<Bytes, static_cast<std::size_t>(BufferClass::Count)> classes{};
  Bytes allocated;  // their sum
  Bytes limit;      // of its device; 0: not known
};
// One a recorded rank, by stage; what a record says of it.
std::vector<StageMemory> memory_of(const RunRecord&);

}  // namespace tandem
