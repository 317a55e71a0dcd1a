// One mathematical step of a model: its kind, its parameters, and how tensor parallelism may split it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/units/dtype.h"
#include "core/units/id.h"
#include "core/units/quantity.h"

namespace tandem {

using OperatorId = Id<struct OperatorTag>;
using TensorId = Id<struct TensorTag>;
using LayerId = Id<struct LayerTag>;

// What a task computes. Backward is cut in two so that schedules can move weight gradients (zero-bubble).
enum class Phase : std::uint8_t { Forward, InputGradient, WeightGradient, Recompute, Update };
std::string_view name(Phase);

// Which token sequence an operator works on: encoder-decoder models have two, with lengths of their own.
enum class Sequence : std::uint8_t { Main, Encoder };

// How tensor parallelism splits an operator (Megatron's names).
enum class Split : std::uint8_t {
  None,        // every rank computes all of its tokens; under sequence parallelism, its share of the sequence
  Column,      // output width is split; the input is needed whole (all-gather under sequence parallelism)
  Row,         // input width is split; the output is a sum over ranks (all-reduce, or reduce-scatter)
  Heads,       // attention heads (and everything per head) are split, no communication
  Vocabulary,  // embedding rows or logits columns are split
  Expert,      // experts are spread over ep, each expert's matrices over etp
};

enum class NormKind : std::uint8_t { LayerNorm, RmsNorm };
enum class ActivationKind : std::uint8_t { Gelu, Relu, Silu, Tanh };
enum class AttentionMask : std::uint8_t { Causal, Full };

// The closed list of kinds, below as OperatorKind. Widths are elements a token, before any splitting.

// Table lookup (tokens, positions, types).
struct Embedding {
  std::int64_t rows = 0, width = 0;
  bool operator==(const Embedding&) const = default;
};
// y = x W (+ b).
struct Linear {
  std::int64_t in = 0, out = 0;
  bool operator==(const Linear&) const = default;
};
struct Normalization {
  NormKind kind = NormKind::RmsNorm;
  std::int64_t width = 0;
  bool operator==(const Normalization&) const = default;
};
// Rotates the q and k widths together.
struct Rotary {
  std::int64_t width = 0;
  bool operator==(const Rotary&) const = default;
};
// Softmax(q k^T) v, with q, k and v already projected.
struct Attention {
  std::int64_t heads = 0, kv_heads = 0, qk_head_dim = 0, v_head_dim = 0;
  AttentionMask mask = AttentionMask::Causal;
  std::int64_t window = 0;  // sliding window in tokens, 0: none
  bool cross = false;       // keys and values come from the encoder sequence
  bool dropout = false;
  bool operator==(const Attention&) const = default;
};
// Applied to the gate half when gated, whose other half it multiplies; width is that of the output.
struct Activation {
  ActivationKind kind = ActivationKind::Gelu;
  std::int64_t width = 0;
  bool gated = false;
  bool operator==(const Activation&) const = default;
};
// x + dropout(y), fused; more than two terms in parallel blocks and beside shared experts.
struct Residual {
  std::int64_t width = 0;
  bool dropout = false;
  bool operator==(const Residual&) const = default;
};
// Token scores and choice.
struct Router {
  std::int64_t width = 0, experts = 0, top_k = 0;
  bool operator==(const Router&) const = default;
};
// Tokens to their experts' ranks.
struct Dispatch {
  std::int64_t width = 0, experts = 0, top_k = 0;
  bool operator==(const Dispatch&) const = default;
};
// Grouped matrix product.
struct ExpertLinear {
  std::int64_t experts = 0, top_k = 0, in = 0, out = 0;
  bool operator==(const ExpertLinear&) const = default;
};
// The same on routed rows.
struct ExpertActivation {
  ActivationKind kind = ActivationKind::Silu;
  std::int64_t width = 0, top_k = 0;
  bool gated = true;
  bool operator==(const ExpertActivation&) const = default;
};
// Back, weighted sum over top_k.
struct Combine {
  std::int64_t width = 0, experts = 0, top_k = 0;
  bool operator==(const Combine&) const = default;
};
// Element-wise multiplication (gates, soft caps).
struct Scale {
  std::int64_t width = 0;
  bool operator==(const Scale&) const = default;
};
struct CrossEntropy {
  std::int64_t vocabulary = 0;
  bool operator==(const CrossEntropy&) const = default;
};
using OperatorKind =
    std::variant<Embedding, Linear, Normalization, Rotary, Attention, Activation, Residual, Router, Dispatch,
                 ExpertLinear, ExpertActivation, Combine, Scale, CrossEntropy>;

// One learned tensor of an operator.
struct Parameter {
  std::string name;        // "weight", "bias"
  std::int64_t count = 0;  // elements, before splitting; over all experts for expert parameters
  bool split = false;      // divided over tp (or ep and etp for Split::Expert); otherwise a copy on each rank
  bool operator==(const Parameter&) const = default;
};

struct Operator {
  std::string name;  // unique inside its layer: "attention.qkv", "mlp.up"
  LayerId layer;
  OperatorKind kind;
  Split split = Split::None;
  Sequence sequence = Sequence::Main;
  std::vector<Parameter> parameters;
  bool tied = false;  // its weight is another operator's (the output head of tied embeddings): parameters empty
  bool per_sequence = false;  // works on one token of each sequence (BERT's pooler, ViT's classifier)
};

std::int64_t parameter_count(const Operator&);

// Lengths that turn widths into sizes: one microbatch of `batch` sequences.
struct TokenShape {
  std::int64_t batch = 1;
  std::int64_t main = 0;     // tokens a sequence on Sequence::Main
  std::int64_t encoder = 0;  // tokens a sequence on Sequence::Encoder, 0: no encoder
};
// Rows that an operator sees in one microbatch: tokens of its sequence; routed rows (tokens x top_k) for the
// products and activations of experts; one a sequence where the operator is per_sequence.
std::int64_t rows(const Operator&, const TokenShape&);

// Unsplit work of one microbatch, by phase, in the arithmetic the operator really needs: causal attention
// counts half the score matrix, a window counts its band, MoE counts top_k experts a token. A product y = xW is
// 2 rows in out in each of its three phases; attention's backward is twice its forward (dV, dP, dQ, dK;
// recomputing the scores is the kernel's choice) and lies in InputGradient alone. Element-wise kinds count a
// transcendental as one. Update has no work here: it belongs to the optimizer. Recompute equals Forward.
Flops flops(const Operator&, Phase, const TokenShape&);
// Compulsory reads and writes: every operand once. The parameter gradients of norms are formed by the kernel of
// their input gradient, so WeightGradient is only for products and embeddings. A residual's InputGradient sums
// the gradient of its branch into the passing one. Every element, also of parameters and their gradients, has
// the size of `dtype`.
Bytes bytes(const Operator&, Phase, const TokenShape&, DType);

}  // namespace tandem
