// Rotary position embedding of fused q-k-v rows (Su et al. 2021), with the halves of a head as pairs (NeoX,
// Llama).
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"
#include "exec/cpu/kernels/scratch.h"

namespace tandem::cpu {

// A row is [heads x head_dim | kv_heads x head_dim | kv_heads x v_head_dim]; the values are copied as they are.
struct RotaryShape {
  std::int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0, v_head_dim = 0;
  std::int64_t rotary_dim = 0;  // of each head's first elements, even; the rest is copied
  float base = 10'000;
};

// positions [rows]. `out` may be `qkv`.
template <class T>
void rotary_forward(const RotaryShape& shape, const std::int32_t* positions, const T* qkv, T* out,
                    Scratch& scratch);
// The inverse rotation of the gradient; `din` may be `dout`.
template <class T>
void rotary_backward(const RotaryShape& shape, const std::int32_t* positions, const T* dout, T* din,
                     Scratch& scratch);

}  // namespace tandem::cpu
