// Gathers measured durations into tables.
#include "core/cost/profile_builder.h"

#include <algorithm>

#include "core/problem/problem.h"

namespace tandem {

void ProfileBuilder::add(const std::string& device, const MeasuredKind& kind, const MeasuredShape& shape,
                         Seconds time) {
  Sum& sum = tables_[{device, kind}][shape];
  sum.time += time;
  ++sum.count;
}

std::vector<ProfileRow> ProfileBuilder::rows(const std::string& source) const {
  // A clock may not tell the start of the shortest works from their end.
  constexpr Seconds shortest(1e-9);
  std::vector<ProfileRow> rows;
  for (const auto& [key, shapes] : tables_) {
    ProfileRow& row =
        rows.emplace_back(ProfileRow{.device = key.first, .kind = key.second, .times = {}, .from = {}});
    row.from.source = source;
    for (const auto& [shape, sum] : shapes)
      row.times.push_back({shape, std::max(shortest, sum.time / sum.count)});
  }
  return rows;
}

std::size_t ProfileBuilder::shapes() const {
  std::size_t count = 0;
  for (const auto& [key, shapes] : tables_) count += shapes.size();
  return count;
}

Seconds median(std::vector<Seconds> times) {
  check(!times.empty(), "something was measured");
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

}  // namespace tandem
