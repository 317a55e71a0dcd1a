// Attention by separate kernels: a product for each head, in fp32 (bf16 through copies), and passes over the
// scores.
#include "exec/cpu/kernels/unfused_attention.h"

#include <algorithm>
#include <type_traits>

#include "exec/cpu/kernels/attention_mask.h"
#include "exec/cpu/kernels/exponential.h"
#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/relative_bias.h"

namespace tandem::cpu {
namespace {

// A matrix for each head of each sequence.
template <class T>
struct HeadMatrices {
  T* data;
  std::int64_t heads, rows, columns, row_stride, head_stride, batch_stride;

  Matrix<T> at(std::int64_t b, std::int64_t head) const {
    return {data + b * batch_stride + head * head_stride, rows, columns, row_stride};
  }
};
template <class T>
HeadMatrices<T> matrices(Heads<T> rows_of, std::int64_t heads, std::int64_t rows, std::int64_t head_dim) {
  return {rows_of.data, heads, rows, head_dim, rows_of.row_stride, head_dim, rows_of.batch_stride};
}
template <class T>
HeadMatrices<T> matrices(const AttentionShape& s, T* scores) {
  const std::int64_t size = s.q_length * s.kv_length;
  return {scores, s.heads, s.q_length, s.kv_length, s.kv_length, size, s.heads * size};
}

// The operand in fp32: itself, or a copy in `memory`.
Matrix<const float> widened(Matrix<const float> m, float*) { return m; }
Matrix<const float> widened(Matrix<const Bf16> m, float* memory) {
  load_rows(m.data, m.stride, m.rows, m.columns, 1, memory, m.rows, m.columns);
  return dense<const float>(memory, m.rows, m.columns);
}
// The result in fp32: itself, or a copy that is rounded into it at last.
Matrix<float> widened(Write, Matrix<float> m, float*) { return m; }
Matrix<float> widened(Write write, Matrix<Bf16> m, float* memory) {
  if (write == Write::Accumulate) widened(Matrix<const Bf16>(m), memory);
  return dense(memory, m.rows, m.columns);
}
void round_into(Matrix<float>, Matrix<float>) {}
void round_into(Matrix<float> sum, Matrix<Bf16> result) {
  for (std::int64_t i = 0; i < sum.rows; ++i)
    for (std::int64_t j = 0; j < sum.columns; ++j) result.row(i)[j] = rounded<Bf16>(sum.row(i)[j]);
}

// c = alpha op(a) op(b) for each head, or added to c. Where c has fewer heads than an operand, the products of
// all heads that share one of c's are summed in their order; an operand with fewer heads is shared. One thread
// forms one result: inside a team dnnl_sgemm runs alone.
template <class T>
void multiply_heads(std::int64_t batch, float alpha, Transpose transpose_a, HeadMatrices<const T> a,
                    Transpose transpose_b, HeadMatrices<const T> b, Write write, HeadMatrices<T> c,
                    Scratch& scratch) {
  const std::int64_t heads = std::max({a.heads, b.heads, c.heads}), terms = heads / c.heads;
  const std::int64_t a_size = a.rows * a.columns, b_size = b.rows * b.columns, c_size = c.rows * c.columns;
  const std::int64_t size = std::is_same_v<T, float> ? 0 : rounded_up(a_size + b_size + c_size, lanes);
  float* memory = scratch.floats(static_cast<std::size_t>(team_threads() * size));
  for_tasks(batch * c.heads, [&](std::int64_t task, int place) {
    float* copies = memory + place * size;
    const std::int64_t sequence = task / c.heads, of_c = task % c.heads;
    const Matrix<T> result = c.at(sequence, of_c);
    const Matrix<float> sum = widened(write, result, copies + a_size + b_size);
    for (std::int64_t head = of_c * terms; head < (of_c + 1) * terms; ++head)
      gemm(transpose_a, widened(a.at(sequence, head * a.heads / heads), copies), transpose_b,
           widened(b.at(sequence, head * b.heads / heads), copies + a_size),
           head == of_c * terms ? write : Write::Accumulate, sum, alpha);
    round_into(sum, result);
  });
}

// `key` gives the position of the j-th key.
template <class T, class Key>
void softmax_row(std::int64_t columns, Visible seen, Key key, T* row) {
  const auto score = [=](std::int64_t j) {
    return key(j) > seen.after && key(j) <= seen.last ? to_float(row[j]) : minus_infinity;
  };
  float top = minus_infinity, sum = 0;
#pragma omp simd reduction(max : top)
  for (std::int64_t j = 0; j < columns; ++j) top = larger(top, score(j));
  const float shift = top == minus_infinity ? 0 : top;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < columns; ++j) sum += exponential(score(j) - shift);
  const float inverse = sum > 0 ? 1 / sum : 0;
#pragma omp simd
  for (std::int64_t j = 0; j < columns; ++j) row[j] = rounded<T>(exponential(score(j) - shift) * inverse);
}

template <class T>
void softmax_backward_row(std::int64_t columns, const T* p, T* ds) {
  float delta = 0;
#pragma omp simd reduction(+ : delta)
  for (std::int64_t j = 0; j < columns; ++j) delta += to_float(p[j]) * to_float(ds[j]);
#pragma omp simd
  for (std::int64_t j = 0; j < columns; ++j) ds[j] = rounded<T>(to_float(p[j]) * (to_float(ds[j]) - delta));
}

}  // namespace

template <class T>
void attention_scores(const AttentionShape& s, const RelativeBias& bias, Heads<const T> q, Heads<const T> k,
                      T* scores, Scratch& scratch) {
  multiply_heads(s.batch, s.scale, Transpose::No, matrices(q, s.heads, s.q_length, s.qk_head_dim),
                 Transpose::Yes, matrices(k, s.kv_heads, s.kv_length, s.qk_head_dim), Write::Replace,
                 matrices(s, scores), scratch);
  if (!bias.table) return;
  const std::int64_t distances = distance_count(bias);
  float* by_distance = scratch.floats(static_cast<std::size_t>(s.heads * distances));
  bias_by_distance(bias, s.heads, by_distance);
  for_tasks(s.batch * s.heads, [&](std::int64_t task, int) {
    const Matrix<T> m = matrices(s, scores).at(0, task);
    const float* biases = by_distance + task % s.heads * distances;
    for (std::int64_t i = 0; i < m.rows; ++i) {
      T* row = m.row(i);
      const std::int32_t query = position(s.q_positions, i);
      for (std::int64_t j = 0; j < m.columns; ++j)
        row[j] =
            rounded<T>(to_float(row[j]) + biases[distance_index(bias, query, position(s.kv_positions, j))]);
    }
  });
}

template <class T>
void attention_softmax(const AttentionShape& s, T* scores) {
  for_chunks(s.batch * s.heads * s.q_length, 8 * s.kv_length, [=](int, std::int64_t begin, std::int64_t end) {
    const std::int32_t* positions = s.kv_positions;
    for (std::int64_t i = begin; i < end; ++i) {
      const Visible seen = visible(s, position(s.q_positions, i % s.q_length));
      T* row = scores + i * s.kv_length;
      if (positions) {
        softmax_row(
            s.kv_length, seen, [=](std::int64_t j) { return positions[j]; }, row);
      } else {
        softmax_row(
            s.kv_length, seen, [](std::int64_t j) { return static_cast<std::int32_t>(j); }, row);
      }
    }
  });
}

template <class T>
void attention_context(const AttentionShape& s, const T* probabilities, Heads<const T> v, Heads<T> o,
                       Scratch& scratch) {
  multiply_heads(s.batch, 1, Transpose::No, matrices(s, probabilities), Transpose::No,
                 matrices(v, s.kv_heads, s.kv_length, s.v_head_dim), Write::Replace,
                 matrices(o, s.heads, s.q_length, s.v_head_dim), scratch);
}

template <class T>
void attention_value_gradient(const AttentionShape& s, const T* probabilities, Heads<const T> d_o, Write write,
                              Heads<T> dv, Scratch& scratch) {
  multiply_heads(s.batch, 1, Transpose::Yes, matrices(s, probabilities), Transpose::No,
                 matrices(d_o, s.heads, s.q_length, s.v_head_dim), write,
                 matrices(dv, s.kv_heads, s.kv_length, s.v_head_dim), scratch);
}

template <class T>
void attention_probability_gradient(const AttentionShape& s, Heads<const T> d_o, Heads<const T> v, T* dp,
                                    Scratch& scratch) {
  multiply_heads(s.batch, 1, Transpose::No, matrices(d_o, s.heads, s.q_length, s.v_head_dim), Transpose::Yes,
                 matrices(v, s.kv_heads, s.kv_length, s.v_head_dim), Write::Replace, matrices(s, dp), scratch);
}

template <class T>
void attention_softmax_backward(const AttentionShape& s, const RelativeBias& bias, const T* probabilities,
                                T* dp, Scratch& scratch) {
  const std::int64_t distances = bias.gradient ? distance_count(bias) : 0;
  float* sums = scratch.floats(static_cast<std::size_t>(s.batch * s.heads * distances));
  std::fill_n(sums, s.batch * s.heads * distances, 0.0f);
  for_tasks(s.batch * s.heads, [&](std::int64_t task, int) {
    const Matrix<const T> p = matrices(s, probabilities).at(0, task);
    const Matrix<T> ds = matrices(s, dp).at(0, task);
    for (std::int64_t i = 0; i < s.q_length; ++i) {
      softmax_backward_row(s.kv_length, p.row(i), ds.row(i));
      if (distances == 0) continue;
      const std::int32_t query = position(s.q_positions, i);
      for (std::int64_t j = 0; j < s.kv_length; ++j)
        sums[task * distances + distance_index(bias, query, position(s.kv_positions, j))] +=
            to_float(ds.row(i)[j]);
    }
  });
  if (distances > 0) add_bias_gradient(bias, s.batch, s.heads, sums);
}

template <class T>
void attention_query_gradient(const AttentionShape& s, const T* ds, Heads<const T> k, Write write, Heads<T> dq,
                              Scratch& scratch) {
  multiply_heads(s.batch, s.scale, Transpose::No, matrices(s, ds), Transpose::No,
                 matrices(k, s.kv_heads, s.kv_length, s.qk_head_dim), write,
                 matrices(dq, s.heads, s.q_length, s.qk_head_dim), scratch);
}

template <class T>
void attention_key_gradient(const AttentionShape& s, const T* ds, Heads<const T> q, Write write, Heads<T> dk,
                            Scratch& scratch) {
  multiply_heads(s.batch, s.scale, Transpose::Yes, matrices(s, ds), Transpose::No,
                 matrices(q, s.heads, s.q_length, s.qk_head_dim), write,
                 matrices(dk, s.kv_heads, s.kv_length, s.qk_head_dim), scratch);
}

#define TANDEM_INSTANTIATE(T)                                                                                 \
  template void attention_scores<T>(const AttentionShape&, const RelativeBias&, Heads<const T>,               \
                                    Heads<const T>, T*, Scratch&);                                            \
  template void attention_softmax<T>(const AttentionShape&, T*);                                              \
  template void attention_context<T>(const AttentionShape&, const T*, Heads<const T>, Heads<T>, Scratch&);    \
  template void attention_value_gradient<T>(const AttentionShape&, const T*, Heads<const T>, Write, Heads<T>, \
                                            Scratch&);                                                        \
  template void attention_probability_gradient<T>(const AttentionShape&, Heads<const T>, Heads<const T>, T*,  \
                                                  Scratch&);                                                  \
  template void attention_softmax_backward<T>(const AttentionShape&, const RelativeBias&, const T*, T*,       \
                                              Scratch&);                                                      \
  template void attention_query_gradient<T>(const AttentionShape&, const T*, Heads<const T>, Write, Heads<T>, \
                                            Scratch&);                                                        \
  template void attention_key_gradient<T>(const AttentionShape&, const T*, Heads<const T>, Write, Heads<T>,   \
                                          Scratch&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
