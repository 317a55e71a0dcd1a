// A choice among n with weights 1/2, 1/4, …, the last two equal.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tandem {

struct GeometricChoice {
  std::size_t count = 1;  // 1 to 64

  // The number of ones that lead random bits.
  std::size_t drawn(std::uint64_t bits) const {
    return std::min(static_cast<std::size_t>(std::countl_one(bits)), count - 1);
  }
  double weight(std::size_t place) const {
    return std::ldexp(1.0, -static_cast<int>(std::min(place + 1, count - 1)));
  }
  // In nats.
  double entropy() const {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum -= weight(i) * std::log(weight(i));
    return sum;
  }
};

}  // namespace tandem
