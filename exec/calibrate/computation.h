// Times the computations of a step, in its order but without its communication.
#pragma once
#include <functional>

#include "core/cost/profile_builder.h"
#include "exec/rank_state.h"

namespace tandem {

struct ComputationOptions {
  int threads = 1;          // of a rank
  std::size_t at_once = 1;  // ranks that compute side by side
  bool bind_cores = true;
  int slices = 5;      // measured; more where the machine was disturbed, at most twice as many
  Seconds warm_up{1};  // at least one slice and this long
  std::string device;  // that the times are of
  std::function<bool(double share)> progress = {};  // false stops
};

struct ComputationResult {
  int slices = 0, rejected = 0;
  ComputeRate reference;  // of a product that was timed before each slice
  double jitter = 0;      // relative standard deviation of one computation's time among ranks and slices
  bool stopped = false;
};

// Each program of the graph on a rank of its own, `at_once` of them together. A slice beside which the
// reference product took 6 % longer or shorter than its median, or which did so itself, is measured again.
// Means over slices go into the profile: a step is a sum, and medians would leave out what only some tasks
// suffer. Rows go to all experts in turn (RunSetup::balance_experts), as predictions assume; InputError for
// etp, over which they would have to be gathered.
ComputationResult measure_computation(const RunSetup&, const ComputationOptions&, ProfileBuilder&);

}  // namespace tandem
