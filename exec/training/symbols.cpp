// Functions of keys alone.
#include "exec/training/symbols.h"

#include <numeric>
#include <utility>

namespace tandem {

std::vector<std::int32_t> spread_tokens(std::int64_t symbols, std::int64_t vocabulary, RandomKey key) {
  const auto stride = static_cast<std::uint64_t>(vocabulary / symbols);
  std::vector<std::int32_t> tokens;
  for (std::uint64_t s = 0; s < static_cast<std::uint64_t>(symbols); ++s)
    tokens.push_back(static_cast<std::int32_t>(s * stride + key.derived("tokens").below(stride, s)));
  return tokens;
}

std::vector<std::uint32_t> permutation(std::size_t size, RandomKey key) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[key.below(i, i)]);
  return order;
}

RandomKey sequence_key(RandomKey key, std::int64_t step, std::int64_t sample) {
  return key.derived("sequence")
      .derived(static_cast<std::uint64_t>(step))
      .derived(static_cast<std::uint64_t>(sample));
}

}  // namespace tandem
