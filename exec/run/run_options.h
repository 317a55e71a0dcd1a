// What a person asks of a run.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/cli/arguments.h"
#include "exec/communicate/paced_transport.h"
#include "exec/exchanges.h"
#include "exec/training/learning_rate.h"

namespace tandem {

enum class BindCores : std::uint8_t {
  Auto,    // where there are enough cores
  Always,  // or the run is refused
  Never
};

struct RunOptions {
  std::int64_t steps = 10, warmup = 2;
  std::string record;  // file
  std::uint64_t seed = 0;
  std::string data;  // file; "": made sequences
  OptimizerOptions optimizer;
  bool mpi = false;
  int threads_per_rank = 0;  // 0: the machine's cores, shared evenly
  // A rank's threads on cores of its own: its communication then runs as soon as its computation waits for it.
  BindCores bind_cores = BindCores::Auto;
  std::optional<Pace> pace;
  bool balance_experts = false;
  Algorithm algorithm = Algorithm::Ring;  // where the plan leaves it open
  std::string checkpoints;                // folder; "": none
  std::int64_t checkpoint_every = 0;      // steps; 0: at the end only
  std::int64_t keep = 2;
  bool resume = false;
  std::int64_t restarts = 0;
  double hang_timeout = 10;  // seconds
  bool json = false, quiet = false;
};

// InputError with all that is wrong with the options of `tandem run`.
RunOptions run_options(const Arguments&, const std::string& scenario_name);

}  // namespace tandem
