// Problems, arithmetic and hints shared by the passes of resolve_plan.
#include "core/plan/plan_draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tandem {
namespace {

constexpr std::size_t kMostValuesInAHint = 10;

}  // namespace

void PlanDraft::refuse(const std::string& key, std::string what, std::string hint) {
  problems.add(spec.where_of(key), std::move(what), std::move(hint));
  broken.insert(key);
}

bool PlanDraft::usable(std::initializer_list<std::string_view> keys) const {
  return std::none_of(keys.begin(), keys.end(), [&](std::string_view key) { return broken.contains(key); });
}

std::int64_t bounded_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (std::int64_t factor : factors) {
    if (factor == 0) return 0;
    if (product > std::numeric_limits<std::int64_t>::max() / factor)
      return std::numeric_limits<std::int64_t>::max();
    product *= factor;
  }
  return product;
}

std::vector<std::int64_t> divisors(std::int64_t positive) {
  std::vector<std::int64_t> small, large;
  for (std::int64_t divisor = 1; divisor <= positive / divisor; ++divisor) {
    if (positive % divisor != 0) continue;
    small.push_back(divisor);
    if (divisor != positive / divisor) large.push_back(positive / divisor);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

std::string use_one_of(const std::vector<std::int64_t>& values, std::int64_t typed) {
  if (values.empty()) return {};
  auto first = values.begin(), last = values.end();
  // Drop from the side that is farther away.
  while (static_cast<std::size_t>(last - first) > kMostValuesInAHint) {
    if (typed - *first > *(last - 1) - typed)
      ++first;
    else
      --last;
  }
  return fmt::format("use {}", fmt::join(first, last, ", "));
}

std::string use_multiple(std::int64_t step, std::int64_t typed, std::int64_t least) {
  const std::int64_t lowest = (least + step - 1) / step * step;
  const std::int64_t below = std::max(lowest, typed / step * step);
  const std::int64_t above = std::max(lowest, (typed / step + 1) * step);
  return below == above ? fmt::format("use {}", below) : fmt::format("use {} or {}", below, above);
}

}  // namespace tandem
