// Losses step by step.
#include "core/compare/compare_losses.h"

#include <cmath>
#include <map>

namespace tandem {

LossComparison compare_losses(const RunRecord& a, const RunRecord& b) {
  const std::map<std::uint32_t, double> of_b(b.losses.begin(), b.losses.end());
  LossComparison result;
  for (const auto& [step, loss] : a.losses) {
    const auto other = of_b.find(step);
    if (other == of_b.end()) continue;
    ++result.steps;
    if (loss == other->second || (std::isnan(loss) && std::isnan(other->second))) continue;
    const double difference = std::fabs(loss - other->second);
    if (result.equal) result.first_step = step;
    result.equal = false;
    // A loss that is no number in one run alone is as far off as can be.
    if (std::isnan(difference) || difference > result.largest)
      result.largest = std::isnan(difference) ? HUGE_VAL : difference;
  }
  return result;
}

}  // namespace tandem
