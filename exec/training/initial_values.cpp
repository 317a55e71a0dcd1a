// Box-Muller over counters: elements 2i and 2i + 1 of the whole parameter come from one 64-bit draw.
#include "exec/training/initial_values.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exec/training/counter_random.h"
#include "exec/training/parameter_run.h"

namespace tandem {
namespace {

constexpr float deviation = 0.02f;

std::int64_t blocks(const ModelGraph& model) {
  return std::count_if(model.layers().begin(), model.layers().end(),
                       [](const Layer& layer) { return layer.role == Layer::Role::Block; });
}

bool writes_residual_stream(const Operator& op) {
  return op.name == "attention.out" || op.name == "cross.out" || op.name.ends_with("down");
}

struct NormalPair {
  float even = 0, odd = 0;
};
NormalPair normal_pair(RandomKey key, std::uint64_t counter) {
  const std::uint64_t bits = key.bits(counter);
  // In (0, 1]: 32 bits reach 6.7 deviations.
  const float uniform = (static_cast<float>(bits >> 32) + 0.5f) * 0x1p-32f;
  const float angle = static_cast<float>(bits & 0xFFFFFFFF) * (0x1p-31f * std::numbers::pi_v<float>);
  const float radius = std::sqrt(-2 * std::log(uniform));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// Standard normal numbers of the whole parameter's elements from `first` on.
void fill_normal(std::span<float> values, RandomKey key, std::uint64_t first) {
  std::size_t at = 0;
  if (first % 2 == 1 && !values.empty()) values[at++] = normal_pair(key, first / 2).odd;
  std::uint64_t counter = (first + 1) / 2;
  for (; at + 1 < values.size(); at += 2, ++counter) {
    const NormalPair pair = normal_pair(key, counter);
    values[at] = pair.even;
    values[at + 1] = pair.odd;
  }
  if (at < values.size()) values[at] = normal_pair(key, counter).even;
}

}  // namespace

InitialRule initial_rule(const ModelGraph& model, const ParameterShard& shard) {
  const Operator& op = model[tied_owner(model, shard.op).value_or(shard.op)];
  const std::string& name = op.parameters[shard.parameter].name;
  if (std::holds_alternative<Normalization>(op.kind)) return {name == "weight" ? 1.0f : 0.0f, 0};
  if (name == "bias" || name == "score_correction_bias") return {0, 0};
  if (!writes_residual_stream(op)) return {0, deviation};
  return {0, deviation / std::sqrt(2 * static_cast<float>(blocks(model)))};
}

void initialize(std::span<float> values, const ParameterShard& shard, InitialRule rule, std::uint64_t seed,
                std::int64_t begin) {
  const RandomKey key = RandomKey{seed}.derived("initial values").derived(shard.name);
  for (const ParameterRun& run :
       parameter_runs(shard, begin, begin + static_cast<std::int64_t>(values.size()))) {
    const std::span<float> part =
        values.subspan(static_cast<std::size_t>(run.local - begin), static_cast<std::size_t>(run.length));
    if (run.padding || rule.deviation == 0) {
      std::fill(part.begin(), part.end(), run.padding ? 0.0f : rule.mean);
      continue;
    }
    fill_normal(part, key, static_cast<std::uint64_t>(run.whole));
    for (float& value : part) value = rule.mean + rule.deviation * value;
  }
}

}  // namespace tandem
