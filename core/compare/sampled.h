// A quantity met in several steps, and two of them side by side.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/units/quantity.h"

namespace tandem {

template <class Q>
struct Sampled {
  Q median{};
  Q spread{};               // interquartile range over the steps; nothing for a single one
  std::uint32_t steps = 0;  // in which it was met; 0: it is not in the record
  bool operator==(const Sampled&) const = default;
};

// The value below which `share` of the sorted values lie, linear between neighbours (Hyndman and Fan's type 7,
// as numpy's and R's default).
template <class Q>
Q quantile(const std::vector<Q>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

template <class Q>
Sampled<Q> sampled(std::vector<Q> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.75) - quantile(values, 0.25),
          static_cast<std::uint32_t>(values.size())};
}

constexpr double number(double value) { return value; }
template <class Tag>
constexpr double number(Quantity<Tag> value) {
  return value.value;
}

template <class Q>
struct Compared {
  Sampled<Q> a, b;
  Q change() const { return b.median - a.median; }
  // (a - b) / b: with a prediction as a and a measurement as b, what the project calls deviation. Equal values
  // deviate by 0; nothing can be said where b is 0.
  std::optional<double> deviation() const {
    if (a.median == b.median) return 0;
    if (number(b.median) == 0) return std::nullopt;
    return (number(a.median) - number(b.median)) / number(b.median);
  }
  // Steps of one record differ among themselves by as much.
  bool within_spread() const {
    return std::fabs(number(change())) <= std::max(number(a.spread), number(b.spread));
  }
  bool operator==(const Compared&) const = default;
};

}  // namespace tandem
