// Learned elements that a stage holds, and the buckets in which their gradients travel.
#pragma once
#include <cstdint>
#include <vector>

#include "core/lower/shard.h"

namespace tandem {

// Elements on one rank, before any ZeRO sharding.
struct ParameterCount {
  std::int64_t dense = 0, expert = 0;
  std::int64_t replicated = 0;  // the part of `dense` that each tensor-parallel rank holds whole
  std::int64_t total() const { return dense + expert; }
  ParameterCount& operator+=(const ParameterCount&);
};

// One operator's; `holds_embedding`: the stage also holds the embedding table, so that a tied head needs no
// copy.
ParameterCount parameters_of(const ModelGraph&, const Shard&, OperatorId, bool holds_embedding);

// Bytes of an element of a reduced gradient, and of a working weight.
double gradient_bytes(const PlanSpec&);
double parameter_bytes(const PlanSpec&);

struct GradientBucket {
  bool expert = false;
  std::int64_t elements = 0;
  std::vector<OperatorId> operators;  // in the order in which their gradients are finished
  LayerId first_layer;                // earliest layer in model order that owns a part
};

// Buckets of a chunk in the order of the backward pass, cut as soon as `bucket_elements` are reached
// (Megatron's rule), or one a layer (ZeRO-3), or a single one of each kind (without overlap).
enum class Bucketing : std::uint8_t { BySize, ByLayer, Whole };
// `table`: first and last stage hold a copy each of a tied embedding table, which then has a bucket of its own,
// so that both copies are cut alike among the ranks that share them (as in Megatron's distributed optimizer).
enum class TiedTable : std::uint8_t { InBucket, Alone };
std::vector<GradientBucket> gradient_buckets(const ModelGraph&, const Shard&, OperatorId first, OperatorId last,
                                             Bucketing, std::int64_t bucket_elements, bool holds_embedding,
                                             TiedTable table);

}  // namespace tandem
