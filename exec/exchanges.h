// What each communication task sends, gathers and sums: one or two calls, with the small host work around them.
#pragma once
#include <functional>
#include <vector>

#include "exec/communicate/communicator.h"
#include "exec/device_runtime.h"

namespace tandem {

struct ExchangeStep {
  CommunicationCall call;
  std::function<void()> before = {}, finish = {};
};

struct ExchangeOptions {
  Algorithm algorithm = Algorithm::Auto;  // of collectives whose plan says Auto
  std::size_t ranks_per_node = 1;
};

// In the order of the lane. `memory` outlives the steps and holds what packing needs; empty when the rank is
// alone in the group.
std::vector<ExchangeStep> make_exchanges(const ComputeCall&, const Work&, RankState&, ExchangeOptions);

}  // namespace tandem
