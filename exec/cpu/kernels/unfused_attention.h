// Attention in separate kernels with the score matrix in memory, [batch, heads, q_length, kv_length], one block
// of keys.
#pragma once
#include "exec/cpu/kernels/attention_shape.h"
#include "exec/cpu/kernels/element.h"
#include "exec/cpu/kernels/scratch.h"

namespace tandem::cpu {

// scores = scale q k^T + bias, masked or not.
template <class T>
void attention_scores(const AttentionShape& shape, const RelativeBias& bias, Heads<const T> q, Heads<const T> k,
                      T* scores, Scratch& scratch);
// In place: scores to probabilities, 0 where the mask hides; a row that sees nothing becomes 0.
template <class T>
void attention_softmax(const AttentionShape& shape, T* scores);
// o = probabilities v.
template <class T>
void attention_context(const AttentionShape& shape, const T* probabilities, Heads<const T> v, Heads<T> o,
                       Scratch& scratch);

// dv = probabilities^T do, summed over the query heads of a kv head.
template <class T>
void attention_value_gradient(const AttentionShape& shape, const T* probabilities, Heads<const T> d_o,
                              Write write, Heads<T> dv, Scratch& scratch);
// dp = do v^T.
template <class T>
void attention_probability_gradient(const AttentionShape& shape, Heads<const T> d_o, Heads<const T> v, T* dp,
                                    Scratch& scratch);
// In place: the gradient of probabilities to that of scores, (dp - sum of p dp) p. Adds to bias.gradient.
template <class T>
void attention_softmax_backward(const AttentionShape& shape, const RelativeBias& bias, const T* probabilities,
                                T* dp, Scratch& scratch);
// dq = scale ds k.
template <class T>
void attention_query_gradient(const AttentionShape& shape, const T* ds, Heads<const T> k, Write write,
                              Heads<T> dq, Scratch& scratch);
// dk = scale ds^T q, summed over the query heads of a kv head.
template <class T>
void attention_key_gradient(const AttentionShape& shape, const T* ds, Heads<const T> q, Write write,
                            Heads<T> dk, Scratch& scratch);

}  // namespace tandem::cpu
