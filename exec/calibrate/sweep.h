// Small models and plans whose shapes others lie between.
#pragma once
#include <string>
#include <vector>

#include "core/model/model_spec.h"
#include "core/plan/plan_spec.h"

namespace tandem {

struct SweepCase {
  ModelSpec spec;
  PlanSpec plan;  // of `ranks` equal replicas
};

// Widths, lengths and vocabularies each far apart, biased and gated blocks, products divided as tensor
// parallelism does.
std::vector<SweepCase> calibration_sweep(std::int64_t ranks);

// Sizes of collectives and messages, from a cache line to what no cache holds.
std::vector<Bytes> swept_sizes();

}  // namespace tandem
