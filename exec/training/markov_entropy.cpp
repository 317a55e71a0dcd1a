// Sums over the runs of hidden positions, whose probabilities are hypergeometric.
#include "exec/training/markov_entropy.h"

#include <algorithm>
#include <cmath>

#include "core/problem/problem.h"

namespace tandem {
namespace {

TransitionMatrix product(const TransitionMatrix& a, const TransitionMatrix& b) {
  const std::size_t n = a.symbols;
  TransitionMatrix c{n, std::vector<double>(n * n)};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) c.share[i * n + j] += a.share[i * n + k] * b.share[k * n + j];
  return c;
}

double mean_row_entropy(const TransitionMatrix& matrix) {
  double sum = 0;
  for (const double share : matrix.share)
    if (share > 0) sum -= share * std::log(share);
  return sum / static_cast<double>(matrix.symbols);
}

double log_choose(std::int64_t n, std::int64_t k) {
  const auto log_factorial = [](std::int64_t i) { return std::lgamma(static_cast<double>(i) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

// Probability that given positions are hidden and others, `decided` in all, are seen.
double probability(std::int64_t length, std::int64_t hidden, std::int64_t run, std::int64_t decided) {
  if (hidden - run < 0 || hidden - run > length - decided) return 0;
  return std::exp(log_choose(length - decided, hidden - run) - log_choose(length, hidden));
}

}  // namespace

std::vector<double> entropies_by_distance(const TransitionMatrix& matrix, std::size_t most) {
  const double all = std::log(static_cast<double>(matrix.symbols));
  std::vector<double> entropies = {0};
  TransitionMatrix power = matrix;
  while (entropies.size() <= most) {
    entropies.push_back(mean_row_entropy(power));
    // Nothing is known any more, nor will be farther away.
    if (all - entropies.back() < 1e-12) entropies.resize(std::max(entropies.size(), most + 1), all);
    if (entropies.size() <= most) power = product(power, matrix);
  }
  return entropies;
}

double hidden_entropy(const TransitionMatrix& matrix, std::int64_t length, std::int64_t hidden) {
  check(0 < hidden && hidden <= length, "a part of the sequence is hidden");
  const std::vector<double> h = entropies_by_distance(matrix, static_cast<std::size_t>(hidden) + 1);
  double sum = 0;
  for (std::int64_t run = 1; run <= std::min(hidden, length - 1); ++run) {
    // Seen symbols on both sides, at any of so many places; or on one side, at either end.
    const double inside = static_cast<double>(length - run - 1) * probability(length, hidden, run, run + 2);
    const double at_ends = 2 * probability(length, hidden, run, run + 1);
    for (std::int64_t before = 1; before <= run; ++before) {
      const auto a = static_cast<std::size_t>(before), b = static_cast<std::size_t>(run + 1 - before);
      sum += inside * (h[a] + h[b] - h[a + b]) + at_ends * h[a];
    }
  }
  // Everything hidden: each symbol could be any.
  if (hidden == length) sum += static_cast<double>(length) * std::log(static_cast<double>(matrix.symbols));
  return sum / static_cast<double>(hidden);
}

}  // namespace tandem
