// Order statistics of deviations.
#include "core/validate/deviation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem {
namespace {

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) rank[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

std::optional<double> rank_correlation(std::span<const Pair> pairs) {
  if (pairs.size() < 3) return std::nullopt;
  std::vector<double> predicted, measured;
  for (const Pair& pair : pairs) {
    predicted.push_back(pair.predicted);
    measured.push_back(pair.measured);
  }
  const std::vector<double> a = ranks(predicted), b = ranks(measured);
  const double mean = static_cast<double>(pairs.size() - 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

Deviations deviations(std::span<const Pair> pairs) {
  Deviations out;
  out.rows = pairs.size();
  if (pairs.empty()) return out;
  std::vector<double> size, sign;
  for (const Pair& pair : pairs) {
    sign.push_back(pair.deviation());
    size.push_back(std::abs(pair.deviation()));
  }
  out.median_abs = quantile(size, 0.5);
  out.mean_abs = std::accumulate(size.begin(), size.end(), 0.0) / static_cast<double>(size.size());
  out.p90_abs = quantile(size, 0.9);
  out.bias = quantile(sign, 0.5);
  out.rank_correlation = rank_correlation(pairs);
  return out;
}

}  // namespace tandem
