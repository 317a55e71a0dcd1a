// Work of operators by phase: floating-point operations and compulsory bytes of one microbatch, unsplit.
#include <algorithm>

#include "core/model/operator.h"

namespace tandem {
namespace {

// Work of a kind in one row or one microbatch, by phase.
struct Amount {
  double forward = 0, input_gradient = 0, weight_gradient = 0;
  double of(Phase phase) const {
    switch (phase) {
      case Phase::Forward:
      case Phase::Recompute:
        return forward;
      case Phase::InputGradient:
        return input_gradient;
      case Phase::WeightGradient:
        return weight_gradient;
      case Phase::Update:
        return 0;
    }
    return 0;
  }
};
Amount each(double work) { return {work, work, work}; }

// Query-key pairs that a mask lets through, in one sequence and one head. The diagonal counts half, so that a
// whole causal square is s^2 / 2 and a window as long as the sequence changes nothing.
double attention_pairs(const Attention& attention, const TokenShape& shape, Sequence sequence) {
  const double queries = static_cast<double>(sequence == Sequence::Main ? shape.main : shape.encoder);
  if (attention.cross) return queries * static_cast<double>(shape.encoder);
  const double window =
      attention.window > 0 ? std::min(queries, static_cast<double>(attention.window)) : queries;
  return attention.mask == AttentionMask::Causal ? window * queries - window * window / 2 : window * queries;
}

// Operations an element: one each for add, multiply, divide, compare, exp, tanh, erf.
double activation_flops(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::Relu:
      return 1;
    case ActivationKind::Tanh:
      return 1;
    case ActivationKind::Silu:
      return 4;  // x / (1 + exp(-x))
    case ActivationKind::Gelu:
      return 5;  // x / 2 (1 + erf(x / sqrt 2))
  }
  return 0;
}

struct FlopsOf {
  const Operator& op;
  const TokenShape& shape;
  double n = static_cast<double>(rows(op, shape));

  static double d(std::int64_t size) { return static_cast<double>(size); }
  Amount operator()(const Embedding& k) const { return {0, 0, n * d(k.width)}; }
  Amount operator()(const Linear& k) const { return each(2 * n * d(k.in) * d(k.out)); }
  // Forward: mean, centre, square, mean, scale, weight (and bias). Backward: two dot products a row and their
  // use.
  Amount operator()(const Normalization& k) const {
    const double w = n * d(k.width);
    return k.kind == NormKind::LayerNorm ? Amount{7 * w, 11 * w, 0} : Amount{4 * w, 8 * w, 0};
  }
  Amount operator()(const Rotary& k) const { return {3 * n * d(k.width), 3 * n * d(k.width), 0}; }
  Amount operator()(const Attention& k) const {
    const double pairs = d(shape.batch) * attention_pairs(k, shape, op.sequence);
    const double forward = 2 * pairs * d(k.heads) * (d(k.qk_head_dim) + d(k.v_head_dim));
    return {forward, 2 * forward, 0};
  }
  Amount operator()(const Activation& k) const { return activation(k.kind, k.width, k.gated); }
  Amount operator()(const ExpertActivation& k) const { return activation(k.kind, k.width, k.gated); }
  Amount operator()(const Residual& k) const {
    const double w = n * d(k.width);
    return {k.dropout ? 3 * w : w, k.dropout ? 2 * w : w, 0};
  }
  Amount operator()(const Router& k) const { return each(2 * n * d(k.width) * d(k.experts)); }
  Amount operator()(const Dispatch& k) const { return {0, n * d(k.width) * d(k.top_k), 0}; }
  Amount operator()(const ExpertLinear& k) const { return each(2 * n * d(k.in) * d(k.out)); }
  Amount operator()(const Combine& k) const {
    const double w = n * d(k.width) * d(k.top_k);
    return {2 * w, 3 * w, 0};  // backward: scale to each expert, and a dot product for each weight
  }
  Amount operator()(const Scale& k) const { return {n * d(k.width), 2 * n * d(k.width), 0}; }
  // Forward: maximum, subtract, exp, sum. Backward: softmax minus one-hot, scaled.
  Amount operator()(const CrossEntropy& k) const {
    return {4 * n * d(k.vocabulary), 3 * n * d(k.vocabulary), 0};
  }

  Amount activation(ActivationKind kind, std::int64_t width, bool gated) const {
    const double w = n * d(width), f = activation_flops(kind);
    return {w * (f + (gated ? 1 : 0)), w * (f + (gated ? 3 : 1)), 0};
  }
};

struct ElementsOf {
  const Operator& op;
  const TokenShape& shape;
  double n = static_cast<double>(rows(op, shape));
  double parameters = static_cast<double>(parameter_count(op));

  static double d(std::int64_t size) { return static_cast<double>(size); }
  // x and W in, y out; dy and W in, dx out; x and dy in, dW out. A tied head reads the table it shares.
  Amount product(double in, double out, double tied_weight) const {
    return each(n * (in + out) + (op.tied ? tied_weight : parameters));
  }
  // Forward: the rows looked up and the sum written; backward: the gradient read, its rows read and written.
  Amount operator()(const Embedding& k) const { return {2 * n * d(k.width), 0, 3 * n * d(k.width)}; }
  Amount operator()(const Linear& k) const { return product(d(k.in), d(k.out), d(k.in) * d(k.out)); }
  Amount operator()(const Normalization& k) const {
    return {2 * n * d(k.width) + parameters, 3 * n * d(k.width) + 2 * parameters, 0};
  }
  Amount operator()(const Rotary& k) const { return {2 * n * d(k.width), 2 * n * d(k.width), 0}; }
  Amount operator()(const Attention& k) const {
    const double keys = k.cross ? d(shape.batch) * d(shape.encoder) : n;
    const double q = n * d(k.heads) * d(k.qk_head_dim), out = n * d(k.heads) * d(k.v_head_dim);
    const double kv = keys * d(k.kv_heads) * (d(k.qk_head_dim) + d(k.v_head_dim));
    return {q + kv + out, 2 * (q + kv + out), 0};  // backward reads q k v out dout, writes dq dk dv
  }
  Amount operator()(const Activation& k) const { return activation(k.width, k.gated); }
  Amount operator()(const ExpertActivation& k) const { return activation(k.width, k.gated); }
  Amount operator()(const Residual& k) const {
    return {3 * n * d(k.width), (k.dropout ? 5 : 3) * n * d(k.width), 0};
  }
  Amount operator()(const Router& k) const { return product(d(k.width), d(k.experts), 0); }
  Amount operator()(const Dispatch& k) const {
    const double both = n * d(k.width) * (1 + d(k.top_k));
    return {both, both, 0};
  }
  Amount operator()(const ExpertLinear& k) const { return product(d(k.in), d(k.out), 0); }
  Amount operator()(const Combine& k) const {
    const double w = n * d(k.width);
    return {w * (1 + d(k.top_k)), w * (1 + 2 * d(k.top_k)), 0};  // backward also reads the experts' outputs
  }
  Amount operator()(const Scale& k) const { return {3 * n * d(k.width), 5 * n * d(k.width), 0}; }
  Amount operator()(const CrossEntropy& k) const { return {n * d(k.vocabulary), 2 * n * d(k.vocabulary), 0}; }

  Amount activation(std::int64_t width, bool gated) const {
    const double w = n * d(width), in = gated ? 2 * w : w;
    return {in + w, 2 * in + w, 0};
  }
};

// Dropout masks are bytes whatever the number format.
double mask_bytes(const Operator& op, Phase phase, const TokenShape& shape) {
  const auto* residual = std::get_if<Residual>(&op.kind);
  if (!residual || !residual->dropout || phase == Phase::WeightGradient || phase == Phase::Update) return 0;
  return static_cast<double>(rows(op, shape)) * static_cast<double>(residual->width);
}

}  // namespace

Flops flops(const Operator& op, Phase phase, const TokenShape& shape) {
  return Flops(std::visit(FlopsOf{op, shape}, op.kind).of(phase));
}

Bytes bytes(const Operator& op, Phase phase, const TokenShape& shape, DType dtype) {
  const double elements = std::visit(ElementsOf{op, shape}, op.kind).of(phase);
  return Bytes(elements * bytes_per_element(dtype) + mask_bytes(op, phase, shape));
}

}  // namespace tandem
