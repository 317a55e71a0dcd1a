// Looking up the rank that stands for another.
#include "core/compare/representatives.h"

namespace tandem {

Representatives::Representatives(const RunRecord& record) {
  for (const RecordLane& lane : record.lanes) {
    recorded_.insert(lane.rank);
    if (lane.multiplicity > 1) for_several_[lane.stage].insert(lane.rank);
  }
}

std::optional<RankId> Representatives::of(RankId rank, std::uint32_t stage) const {
  if (recorded_.contains(rank)) return rank;
  const auto peers = for_several_.find(stage);
  if (peers == for_several_.end()) return std::nullopt;
  const auto after = peers->second.upper_bound(rank);
  return after == peers->second.begin() ? *after : *std::prev(after);
}

}  // namespace tandem
