// Mixing of 64-bit words, for colours of symmetric things and for random draws that depend on nothing but a
// key.
#pragma once
#include <bit>
#include <cstdint>

namespace tandem {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit changes every output bit with even
// odds.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }
inline std::uint64_t mix_number(std::uint64_t a, double b) { return mix(a, std::bit_cast<std::uint64_t>(b)); }

}  // namespace tandem
