// How far predictions lie from measurements: medians, means and ranks of many rows at once.
#pragma once
#include <optional>
#include <span>
#include <vector>

namespace tandem {

struct Pair {
  double predicted = 0, measured = 0;
  double deviation() const { return predicted / measured - 1; }  // relative, signed
};

// Fractions, not per cent.
struct Deviations {
  std::size_t rows = 0;
  double median_abs = 0, mean_abs = 0, p90_abs = 0, bias = 0;  // bias: the median signed deviation
  std::optional<double> rank_correlation;                      // Spearman's, of at least three rows
};

// Of no rows: all zero.
Deviations deviations(std::span<const Pair>);

// Linear between order statistics; `share` from 0 to 1. Of no values: 0.
double quantile(std::vector<double> values, double share);

// Spearman's rank correlation, equal values sharing their mean rank; nothing for fewer than three or all equal.
std::optional<double> rank_correlation(std::span<const Pair>);

}  // namespace tandem
