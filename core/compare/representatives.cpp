// Looking up the rank that stands for another.
#include "core/compare/representatives.h"

namespace tandem {

namespace {

std::uint32_t ranks_spoken_for(const RunRecord& record) {
  std::map<RankId, std::uint32_t> multiplicity;
  for (const RecordLane& lane : record.lanes) multiplicity.emplace(lane.rank, lane.multiplicity);
  std::uint32_t ranks = 0;
  for (const auto& [rank, times] : multiplicity) ranks += times;
  return ranks;
}

}  // namespace

std::uint32_t ranks_of_run(const RunRecord& record) {
  const std::uint32_t ranks = ranks_spoken_for(record);
  const auto devices = record.summary.find("devices");
  const bool more = devices != record.summary.end() && devices->second > ranks && devices->second < 1e9;
  return more ? static_cast<std::uint32_t>(devices->second) : ranks;
}

Representatives::Representatives(const RunRecord& record) {
  const bool more = ranks_of_run(record) > ranks_spoken_for(record);
  for (const RecordLane& lane : record.lanes) {
    recorded_.insert(lane.rank);
    if (more || lane.multiplicity > 1) for_others_[lane.stage].insert(lane.rank);
  }
}

std::optional<RankId> Representatives::of(RankId rank, std::uint32_t stage) const {
  if (recorded_.contains(rank)) return rank;
  const auto peers = for_others_.find(stage);
  if (peers == for_others_.end()) return std::nullopt;
  const auto after = peers->second.upper_bound(rank);
  return after == peers->second.begin() ? *after : *std::prev(after);
}

}  // namespace tandem
