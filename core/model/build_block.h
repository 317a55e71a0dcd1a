// One transformer block as operators: attention (ordinary or latent), cross attention, and a dense or expert
// MLP.
#pragma once
#include "core/model/graph_builder.h"
#include "core/model/model_spec.h"

namespace tandem {

struct BlockPlace {
  std::int64_t index = 0;              // inside its stack
  Sequence sequence = Sequence::Main;  // the tokens it works on
  bool encoder = false;                // one of t5's encoder blocks: every token sees every other
};

// Adds a block that reads `input` (and `encoder_output` when the block has cross attention); gives the tensor
// it writes. The caller opens and closes the layer.
TensorId add_block(GraphBuilder&, const ModelSpec&, const BlockPlace&, TensorId input,
                   const TensorId* encoder_output);

// Shared with the embedding and the head. A biased norm is LayerNorm; RMSNorm has a weight only.
Operator norm_operator(std::string name, NormKind kind, std::int64_t width, Sequence sequence = Sequence::Main);
Operator linear_operator(std::string name, std::int64_t in, std::int64_t out, Split split, bool bias,
                         Sequence sequence = Sequence::Main);

}  // namespace tandem
