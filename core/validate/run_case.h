// A row of a table of runs as the predictor sees it: model, machine, plan, framework, and what was measured.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/validate/framework_defaults.h"
#include "core/validate/run_row.h"

namespace tandem {

struct RunCase {
  ModelSpec model;
  ClusterSpec cluster;
  PlanSpec plan;
  std::string framework;  // profile of the calibration
  bool microbatch_known = true;
  bool first_stage_memory = false;
  std::optional<double> measured_s;       // of one step; nothing for rows that only say whether they fit
  bool memory_is_reserved = false;        // the memory column counts what the allocator held
  std::optional<double> measured_memory;  // bytes
  std::optional<bool> fits;               // what happened: it ran, or it was out of memory
  std::vector<std::string> assumed;       // defaults taken for empty cells, one "key = value" each
};

// Why a row is not predicted, by a rule that never looks at the measured time.
struct Skip {
  std::string reason;
};

// Reads models of `library` where a row's model is one that its columns cannot describe (latent attention).
std::variant<RunCase, Skip> run_case(const RunRow&, const Library&);

// Parts of run_case.
std::variant<ModelSpec, Skip> row_model(const RunRow&, const Library&);
std::variant<ClusterSpec, Skip> row_cluster(const RunRow&, const Catalog&);
// "nanotron" and the state of its cluster and pipeline engine, as the row's notes tell them.
std::string row_profile(const RunRow&, const FrameworkDefaults&);
// Seconds of one step: as printed, from tokens a second, or from TFLOP/s under the row's convention.
std::variant<double, Skip> row_time(const RunRow&, const RunCase&, const FrameworkDefaults&);

}  // namespace tandem
