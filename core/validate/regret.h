// How much is lost by trusting a prediction's ranking of plans.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/validate/deviation.h"

namespace tandem {

// One plan of a group of rows that train the same model with the same batch on the same devices.
struct RankedPlan {
  std::string group;
  Pair seconds;
};

// Relative, of the best measured plan: 0.05 is five per cent slower.
struct Regret {
  std::size_t groups = 0;              // of at least three plans
  double first = 0, first_median = 0;  // mean and median over groups: the plan that is predicted fastest
  double best_of_three = 0;            // mean: the best measured one of the three that are predicted fastest
};

// Plans that are predicted equally fast are taken in an order that has nothing to do with the table's (tables
// may be sorted by measured speed): by a fixed shuffle.
Regret regret(std::span<const RankedPlan>);

}  // namespace tandem
