// Top-k choice of experts with the softmax over the chosen logits, and its gradient.
#include "exec/cpu/kernels/router.h"

#include <algorithm>
#include <limits>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/exponential.h"
#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

// The highest logit that is not yet chosen, the lower index where two are equal.
template <class T>
std::int32_t best_expert(const T* logits, std::int64_t experts, const std::int32_t* chosen,
                         std::int64_t choices) {
  std::int32_t best = -1;
  for (std::int32_t e = 0; e < experts; ++e) {
    if (std::find(chosen, chosen + choices, e) != chosen + choices) continue;
    if (best < 0 || to_float(logits[e]) > to_float(logits[best])) best = e;
  }
  return best;
}

}  // namespace

template <class T>
void choose_experts(const RouterShape& shape, const T* logits, std::int32_t* experts, float* weights) {
  check(shape.top_k <= shape.experts, "top_k experts exist");
  const std::int64_t k = shape.top_k;
  for_chunks(shape.rows, shape.experts * k, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = logits + i * shape.experts;
      std::int32_t* chosen = experts + i * k;
      float *weight = weights + i * k, sum = 0;
      for (std::int64_t c = 0; c < k; ++c) {
        chosen[c] = shape.balanced ? static_cast<std::int32_t>((i * k + c) % shape.experts)
                                   : best_expert(row, shape.experts, chosen, c);
        weight[c] = exponential(to_float(row[chosen[c]]) - to_float(row[chosen[0]]));
        sum += weight[c];
      }
      for (std::int64_t c = 0; c < k; ++c) weight[c] /= sum;
    }
  });
}

template <class T>
void router_backward(const RouterShape& shape, const std::int32_t* experts, const float* weights,
                     const float* dweights, T* dlogits) {
  const std::int64_t k = shape.top_k;
  for_chunks(shape.rows, shape.experts, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = dlogits + i * shape.experts;
      std::fill_n(row, shape.experts, T{});
      const float *w = weights + i * k, *dw = dweights + i * k;
      float mean = 0;
      for (std::int64_t c = 0; c < k; ++c) mean += w[c] * dw[c];
      for (std::int64_t c = 0; c < k; ++c) row[experts[i * k + c]] = rounded<T>(w[c] * (dw[c] - mean));
    }
  });
}

#define TANDEM_INSTANTIATE(T)                                                           \
  template void choose_experts<T>(const RouterShape&, const T*, std::int32_t*, float*); \
  template void router_backward<T>(const RouterShape&, const std::int32_t*, const float*, const float*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
