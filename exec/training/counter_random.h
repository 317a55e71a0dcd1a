// Random numbers as a function of a key and a counter: the same on every rank, in any order.
#pragma once
#include <cstdint>
#include <string_view>

namespace tandem {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// A key for each purpose: keys of different counters or names give unrelated numbers.
struct RandomKey {
  std::uint64_t value = 0;

  constexpr RandomKey derived(std::uint64_t counter) const { return {mixed(value + mixed(counter + gamma))}; }
  constexpr RandomKey derived(std::string_view name) const {
    RandomKey key = derived(name.size());
    for (const char letter : name) key = key.derived(static_cast<unsigned char>(letter));
    return key;
  }
  // splitmix64 started at the key: 64 random bits for each counter.
  constexpr std::uint64_t bits(std::uint64_t counter) const { return mixed(value + (counter + 1) * gamma); }
  // Uniform in [0, n), with a bias below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n, std::uint64_t counter) const { return bits(counter) % n; }

 private:
  static constexpr std::uint64_t gamma = 0x9E3779B97F4A7C15;
};

}  // namespace tandem
