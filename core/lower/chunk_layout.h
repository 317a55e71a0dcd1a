// What each position of the pipeline holds: its operators, the tensors that cross its borders, its gradient
// buckets.
#pragma once
#include <vector>

#include "core/lower/parameters.h"
#include "core/lower/shard.h"

namespace tandem {

struct ChunkLayout {
  OperatorId first, last;                 // inclusive
  std::vector<TensorId> inputs, outputs;  // tensors that cross the borders, in the order in which they are sent
  std::vector<GradientBucket> buckets;
};

// By position. Lowering writes its tasks and buckets after this, and so does whoever carries them out.
std::vector<ChunkLayout> chunk_layouts(const ModelGraph&, const Plan&, const Shard&);

// The stage that holds `position` also holds the embedding table (a tied head there needs no copy of its own).
bool holds_embedding(const Plan&, std::uint32_t position);

}  // namespace tandem
