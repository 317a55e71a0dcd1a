// Ranks as threads of this process.
#pragma once
#include <functional>
#include <optional>

#include "exec/communicate/paced_transport.h"
#include "exec/run/run_rank.h"

namespace tandem {

// All ranks of the plan until the last one has ended; throws what the first that failed threw. `observer` is
// called by rank 0's thread, `options_of` by each rank's own.
void run_threads(const RunSetup&, RunObserver& observer, const std::function<RankOptions(RankId)>& options_of,
                 std::optional<Pace> = {});

}  // namespace tandem
