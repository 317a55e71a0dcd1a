// What made sequences are drawn with: symbols all over a vocabulary, permutations, a key for each sequence.
#pragma once
#include <cstdint>
#include <vector>

#include "exec/training/counter_random.h"

namespace tandem {

// Distinct ascending tokens, one in each of `symbols` equal parts of the vocabulary.
std::vector<std::int32_t> spread_tokens(std::int64_t symbols, std::int64_t vocabulary, RandomKey);

// A random order of 0 … size - 1 (Fisher-Yates).
std::vector<std::uint32_t> permutation(std::size_t size, RandomKey);

RandomKey sequence_key(RandomKey, std::int64_t step, std::int64_t sample);

}  // namespace tandem
