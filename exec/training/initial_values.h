// Initial parameters, each element a function of seed, parameter and its place in the whole: all plans start
// equal.
#pragma once
#include <cstdint>
#include <span>

#include "exec/training/parameter_shard.h"

namespace tandem {

// Normally distributed; with a deviation of 0 every element is the mean.
struct InitialRule {
  float mean = 0, deviation = 0;
  bool operator==(const InitialRule&) const = default;
};

// As GPT-2 and Megatron have it: 0.02, and 0.02 / sqrt(2 layers) for the products that write into the residual
// stream; norms start at 1; biases, the router's score correction and vocabulary padding at 0.
InitialRule initial_rule(const ModelGraph&, const ParameterShard&);

// Fills the shard's local elements [begin, begin + values.size()).
void initialize(std::span<float> values, const ParameterShard&, InitialRule, std::uint64_t seed,
                std::int64_t begin = 0);

}  // namespace tandem
