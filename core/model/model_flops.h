// Model flops of a training step: what the mathematics needs, whatever a plan recomputes; the numerator of MFU.
#pragma once
#include "core/model/model_graph.h"

namespace tandem {

// How much of the score matrix attention counts.
enum class AttentionFlops : std::uint8_t {
  Full,        // all s x s scores, masked or not, windowed or not: Megatron-LM's and Korthikanti's formula
  CausalHalf,  // only the scores that a mask and a window let through, as flash attention computes
};

// Forward and both gradients of one microbatch; matrix products and attention only, as in Narayanan 2021
// (SC'21, section 5.1) and Korthikanti 2022 (appendix A): 72 B s l h^2 (1 + s/6h + V/12lh) for a GPT.
// Recomputation, norms, activations and the optimizer are not counted.
Flops model_flops(const ModelGraph&, const TokenShape&, AttentionFlops = AttentionFlops::Full);

}  // namespace tandem
