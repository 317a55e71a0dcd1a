// Attention as kernels: one fused kernel (flash), or products and passes over the score matrix.
#include <algorithm>

#include "core/lower/kernels.h"

namespace tandem {
namespace {

// Scores that a mask and a window let through.
double visible_scores(const Attention& attention, const AttentionBlock& block) {
  const double q = static_cast<double>(block.q_length), k = static_cast<double>(block.kv_length);
  double scores = block.mask == AttentionMask::Causal ? q * (k + 1) / 2 : q * k;
  if (attention.window > 0 && attention.window < block.kv_length) {
    const double w = static_cast<double>(attention.window);
    scores = std::min(scores, block.mask == AttentionMask::Causal ? q * w - w * (w - 1) / 2 : q * w);
  }
  return scores;
}

void add_product(std::vector<Kernel>& kernels, Part part, Phase phase, const MatrixProduct& shape) {
  Compute compute;
  compute.phase = phase;
  compute.kernel = shape;
  compute.flops = Flops(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                        static_cast<double>(shape.k) * static_cast<double>(shape.batch));
  compute.model_flops = compute.flops;
  kernels.push_back({part, compute});
}

std::vector<Kernel> flash(const Attention& attention, const AttentionBlock& block, const Shard& shard,
                          AttentionPhase phase) {
  const bool backward = phase == AttentionPhase::Backward;
  FusedAttention kernel;
  kernel.batch = shard.batch();
  kernel.heads = block.heads;
  kernel.kv_heads = block.kv_heads;
  kernel.q_length = block.q_length;
  kernel.kv_length = block.kv_length;
  kernel.qk_head_dim = attention.qk_head_dim;
  kernel.v_head_dim = attention.v_head_dim;
  kernel.mask = block.mask;
  kernel.window = attention.window;
  kernel.dtype = shard.tensor_dtype();
  kernel.backward = backward;

  Compute compute;
  compute.kernel = kernel;
  compute.phase = backward                             ? Phase::InputGradient
                  : phase == AttentionPhase::Recompute ? Phase::Recompute
                                                       : Phase::Forward;
  const double a_score = 2.0 * static_cast<double>(shard.batch() * block.heads) *
                         static_cast<double>(attention.qk_head_dim + attention.v_head_dim);
  // Backward computes the scores once more and four products: 2.5 times the forward arithmetic
  // (FlashAttention-2).
  compute.flops = Flops(a_score * visible_scores(attention, block) * (backward ? 2.5 : 1));
  compute.model_flops = Flops(a_score * static_cast<double>(block.q_length) *
                              static_cast<double>(block.kv_length) * (backward ? 2 : 1));
  return {{Part::Main, compute}};
}

std::vector<Kernel> unfused(const Attention& attention, const AttentionBlock& block, const Shard& shard,
                            AttentionPhase phase) {
  const std::int64_t products = shard.batch() * block.heads;
  const double scores = static_cast<double>(products) * static_cast<double>(block.q_length) *
                        static_cast<double>(block.kv_length);
  const double e = shard.element_bytes();
  const DType dtype = shard.tensor_dtype();
  const std::int64_t q = block.q_length, k = block.kv_length, d = attention.qk_head_dim,
                     v = attention.v_head_dim;
  std::vector<Kernel> kernels;
  if (phase != AttentionPhase::Backward) {
    const Phase p = phase == AttentionPhase::Recompute ? Phase::Recompute : Phase::Forward;
    add_product(kernels, Part::Scores, p, {q, k, d, products, dtype, e, false});
    kernels.push_back({Part::Softmax, memory_pass(PassKind::Softmax, p, scores, 2 * e)});
    if (attention.dropout)
      kernels.push_back({Part::Dropout, memory_pass(PassKind::Scale, p, scores, 2 * e + 1)});
    add_product(kernels, Part::Context, p, {q, v, k, products, dtype, e, false});
    return kernels;
  }
  const Phase p = Phase::InputGradient;
  add_product(kernels, Part::ValueGradient, p, {k, v, q, products, dtype, e, false});
  add_product(kernels, Part::ProbabilityGradient, p, {q, k, v, products, dtype, e, false});
  if (attention.dropout) kernels.push_back({Part::Dropout, memory_pass(PassKind::Scale, p, scores, 2 * e + 1)});
  kernels.push_back({Part::Softmax, memory_pass(PassKind::Softmax, p, scores, 3 * e)});
  add_product(kernels, Part::QueryGradient, p, {q, d, k, products, dtype, e, false});
  add_product(kernels, Part::KeyGradient, p, {k, d, q, products, dtype, e, false});
  return kernels;
}

}  // namespace

std::vector<Kernel> attention_kernels(const Attention& attention, const AttentionBlock& block,
                                      const Shard& shard, AttentionPhase phase) {
  std::vector<Kernel> kernels = shard.plan().spec.attention_backend == AttentionBackend::Flash
                                    ? flash(attention, block, shard, phase)
                                    : unfused(attention, block, shard, phase);
  for (Kernel& kernel : kernels) kernel.compute.model_flops *= block.counted;
  return kernels;
}

Bytes attention_state_bytes(const Attention& attention, const AttentionBlock& block, const Shard& shard) {
  const double heads = static_cast<double>(shard.batch() * block.heads);
  if (shard.plan().spec.attention_backend == AttentionBackend::Flash) {
    return Bytes(heads * static_cast<double>(block.q_length) * 4);  // one fp32 log-sum-exp a query
  }
  // Softmax output, and with dropout its mask (1 byte) and result: 5 a s^2 b of Korthikanti 2022, section 4.1.
  const double a_score = shard.element_bytes() * (attention.dropout ? 2 : 1) + (attention.dropout ? 1 : 0);
  return Bytes(heads * static_cast<double>(block.q_length) * static_cast<double>(block.kv_length) * a_score);
}

}  // namespace tandem
