// Flash attention over one block of keys (Dao 2023, algorithms 1 and 2), so that rings of blocks add up to the
// whole.
#pragma once
#include "exec/cpu/kernels/attention_shape.h"
#include "exec/cpu/kernels/element.h"
#include "exec/cpu/kernels/scratch.h"

namespace tandem::cpu {

// o: rows of heads x v_head_dim, normalised; lse [batch, heads, q_length]: the log-sum-exp of each query's
// scores, minus infinity where it sees no key (o is 0 there). Write::Accumulate merges the block with the o and
// lse of earlier blocks.
template <class T>
void attention_forward(const AttentionShape& shape, const RelativeBias& bias, Heads<const T> q,
                       Heads<const T> k, Heads<const T> v, Write write, Heads<T> o, float* lse,
                       Scratch& scratch);

// Of one block, with the o and lse of the whole row of blocks. dq, dk and dv are written or added to.
template <class T>
struct AttentionGradients {
  Heads<T> dq, dk, dv;
  Write write_dq = Write::Replace, write_dkv = Write::Replace;
};
template <class T>
void attention_backward(const AttentionShape& shape, const RelativeBias& bias, Heads<const T> q,
                        Heads<const T> k, Heads<const T> v, Heads<const T> o, Heads<const T> d_o,
                        const float* lse, const AttentionGradients<T>& gradients, Scratch& scratch);

}  // namespace tandem::cpu
