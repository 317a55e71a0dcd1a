// Ranks the plans of each group by their predictions.
#include "core/validate/regret.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace tandem {
namespace {

constexpr std::size_t fewest_plans = 3;

}  // namespace

Regret regret(std::span<const RankedPlan> plans) {
  std::map<std::string, std::vector<Pair>> groups;
  for (const RankedPlan& plan : plans) groups[plan.group].push_back(plan.seconds);
  std::vector<double> first, of_three;
  std::mt19937_64 random(1);
  for (auto& [name, group] : groups) {
    if (group.size() < fewest_plans) continue;
    // First into an order of their own, then shuffled: the result does not depend on the order of the rows.
    std::sort(group.begin(), group.end(), [](const Pair& a, const Pair& b) { return a.measured < b.measured; });
    for (std::size_t i = group.size(); i-- > 1;) std::swap(group[i], group[random() % (i + 1)]);
    std::stable_sort(group.begin(), group.end(),
                     [](const Pair& a, const Pair& b) { return a.predicted < b.predicted; });
    const auto faster = [](const Pair& a, const Pair& b) { return a.measured < b.measured; };
    const double best = std::min_element(group.begin(), group.end(), faster)->measured;
    const auto three = group.begin() + static_cast<std::ptrdiff_t>(fewest_plans);
    first.push_back(group.front().measured / best - 1);
    of_three.push_back(std::min_element(group.begin(), three, faster)->measured / best - 1);
  }
  Regret out;
  out.groups = first.size();
  if (first.empty()) return out;
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  out.first = mean(first);
  out.first_median = quantile(first, 0.5);
  out.best_of_three = mean(of_three);
  return out;
}

}  // namespace tandem
