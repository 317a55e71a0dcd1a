// What a run is about: everything that is fixed before its first step.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "core/cli/prediction.h"
#include "core/lower/lower.h"
#include "exec/rank_state.h"
#include "exec/run/run_options.h"
#include "exec/training/checkpoint.h"
#include "exec/training/token_source.h"

namespace tandem {

struct RunCase {
  const Scenario& scenario;
  const Prepared& prepared;
  RunOptions options;
  ExchangeOptions exchanges;
  TaskGraph graph;
  std::unique_ptr<TokenSource> source;  // from the first step of the training on
  std::optional<double> floor;          // best expected loss, where the source knows it
  // Of --resume: what is gone on from.
  std::string checkpoint_folder = {};
  std::optional<CheckpointMeta> resumed = {};

  std::int64_t first_step() const { return resumed ? resumed->step : 0; }
  std::int64_t own_steps() const { return options.steps - first_step(); }
  std::size_t ranks() const { return prepared.plan.mesh.ranks(); }
};

// InputError for everything that cannot be run: options, operators, data, checkpoints. Both must outlive the
// case.
RunCase make_run_case(const Arguments&, const Scenario&, const Prepared&);

// What a checkpoint of that many steps says of itself.
CheckpointMeta checkpoint_meta(const RunCase&, std::int64_t steps_done);

}  // namespace tandem
