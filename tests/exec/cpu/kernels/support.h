// Random tensors, their storage types, and comparisons for the tests of kernels.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "exec/cpu/kernels/element.h"
#include "exec/cpu/kernels/scratch.h"
#include "exec/cpu/kernels/threads.h"

namespace tandem::cpu {

using Doubles = std::vector<double>;

template <class T = float>
std::vector<T> random_values(std::int64_t count, unsigned seed, float width = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-width, width);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = rounded<T>(uniform(random));
  return values;
}

template <class T>
Doubles doubles(const std::vector<T>& values) {
  Doubles result;
  for (const T& value : values) result.push_back(static_cast<double>(to_float(value)));
  return result;
}

template <class T>
std::vector<T> filled(std::int64_t count, float value = 0) {
  return std::vector<T>(static_cast<std::size_t>(count), rounded<T>(value));
}

// Largest difference, relative to the largest expected value, or to 0.01 where all are smaller.
template <class T>
double deviation(const std::vector<T>& actual, const Doubles& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double difference = 0, size = 0.01;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = static_cast<double>(to_float(actual[i]));
    difference = std::isfinite(value) ? std::max(difference, std::abs(value - expected[i])) : INFINITY;
    size = std::max(size, std::abs(expected[i]));
  }
  return difference / size;
}

// What rounding of storage and fp32 sums may do: 2^-8 is one rounding to bf16.
template <class T>
constexpr double tolerance = std::is_same_v<T, float> ? 1e-5 : 1.5 / 256;

// Gradient of f by central differences.
inline Doubles numeric_gradient(const std::function<double(const Doubles&)>& f, Doubles x) {
  Doubles gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i], step = 1e-5;
    x[i] = at + step;
    const double above = f(x);
    x[i] = at - step;
    gradient[i] = (above - f(x)) / (2 * step);
    x[i] = at;
  }
  return gradient;
}

inline double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// run() gives the bits of a result; they must not depend on the team's size.
template <class F>
void expect_same_bits_with_any_team(const F& run) {
  const int before = team_threads();
  set_team_threads(1);
  const auto expected = run();
  for (const int threads : {2, 3}) {
    set_team_threads(threads);
    const auto actual = run();
    ASSERT_EQ(actual.size(), expected.size());
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), expected.size() * sizeof(expected[0])), 0)
        << threads << " threads";
  }
  set_team_threads(before);
}

// Typed tests run for both storage types.
using StorageTypes = ::testing::Types<float, Bf16>;

}  // namespace tandem::cpu
