// The choice of experts, and moving rows to their experts and back.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"

namespace tandem::cpu {

struct RouterShape {
  std::int64_t rows = 0, experts = 0, top_k = 0;
  bool balanced = false;  // all experts in turn, whatever their logits
};

// logits [rows, experts] to experts and weights [rows, top_k], highest logit first, ties to the lower index.
// The weights are the softmax over the chosen logits (Mixtral).
template <class T>
void choose_experts(const RouterShape& shape, const T* logits, std::int32_t* experts, float* weights);
// dlogits [rows, experts], 0 for experts not chosen.
template <class T>
void router_backward(const RouterShape& shape, const std::int32_t* experts, const float* weights,
                     const float* dweights, T* dlogits);

// A slot is one choice of one row: slot = row top_k + choice. Sorted by expert, slots of one expert in their
// order: counts [experts], and the place of each slot, positions [rows x top_k].
void sort_by_expert(const RouterShape& shape, const std::int32_t* experts, std::int64_t* counts,
                    std::int32_t* positions);

// y [rows x top_k, width] in the order of experts. A negative position leaves a slot out, here and below.
template <class T>
void dispatch_rows(const RouterShape& shape, std::int64_t width, const std::int32_t* positions, const T* x,
                   T* y);
// dx [rows, width] = the sum over each row's slots.
template <class T>
void dispatch_rows_backward(const RouterShape& shape, std::int64_t width, const std::int32_t* positions,
                            const T* dy, T* dx);
// y [rows, width] = the sum over each row's slots of weights [rows, top_k] times x [rows x top_k, width].
template <class T>
void combine_rows(const RouterShape& shape, std::int64_t width, const std::int32_t* positions,
                  const float* weights, const T* x, T* y);
// dx in the order of experts, dweights [rows, top_k].
template <class T>
void combine_rows_backward(const RouterShape& shape, std::int64_t width, const std::int32_t* positions,
                           const float* weights, const T* x, const T* dy, T* dx, float* dweights);

}  // namespace tandem::cpu
