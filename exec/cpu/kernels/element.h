// The element types that tensors are stored in. Arithmetic is always fp32; a store rounds to nearest even.
#pragma once
#include <bit>
#include <cstdint>

namespace tandem::cpu {

// The upper half of an fp32.
struct Bf16 {
  std::uint16_t bits;
};

inline float to_float(float x) { return x; }
inline float to_float(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

template <class T>
T rounded(float x);
template <>
inline float rounded<float>(float x) {
  return x;
}
template <>
inline Bf16 rounded<Bf16>(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  // Rounding up could carry a NaN into an infinity of the other sign.
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return {static_cast<std::uint16_t>(nan ? (bits >> 16) | 0x40 : nearest)};
}

// What happens to the values that a result finds at its place.
enum class Write : std::uint8_t { Replace, Accumulate };

}  // namespace tandem::cpu
