// Products of a linear layer. fp32 goes to dnnl_sgemm, which keeps no state; bf16 to a matmul primitive.
#include "exec/cpu/kernels/gemm.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/bf16_product.h"
#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

// c = op(a) op(b), or added to it, for any storage of the operands and the result.
template <class T, class Result>
void product(Transpose transpose_a, Matrix<const T> a, Transpose transpose_b, Matrix<const T> b, Write write,
             Matrix<Result> c, Scratch& scratch) {
  if constexpr (std::is_same_v<T, float>) {
    gemm(transpose_a, a, transpose_b, b, write, c);
  } else {
    bf16_product(transpose_a, a, transpose_b, b, write, c, scratch);
  }
}

// A group's rows of a shared matrix.
template <class T>
Matrix<T> rows_of(Matrix<T> m, const RowGroup& group) {
  return {m.row(group.begin), group.rows, m.columns, m.stride};
}

// y [rows, out] += bias in each row.
template <class T>
void add_rows(const T* bias, Matrix<T> y) {
  for_chunks(y.rows, y.columns, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = y.row(i);
#pragma omp simd
      for (std::int64_t j = 0; j < y.columns; ++j) row[j] = rounded<T>(to_float(row[j]) + to_float(bias[j]));
    }
  });
}

}  // namespace

void gemm(Transpose transpose_a, Matrix<const float> a, Transpose transpose_b, Matrix<const float> b,
          Write write, Matrix<float> c, float alpha) {
  const std::int64_t k = transpose_a == Transpose::No ? a.columns : a.rows;
  if (c.rows == 0 || c.columns == 0) return;
  const dnnl_status_t status = dnnl_sgemm(transpose_a == Transpose::No ? 'N' : 'T',  //
                                          transpose_b == Transpose::No ? 'N' : 'T',  //
                                          c.rows, c.columns, k, alpha, a.data, a.stride, b.data, b.stride,
                                          write == Write::Replace ? 0.0f : 1.0f, c.data, c.stride);
  if (status != dnnl_success) throw BackendError(fmt::format("dnnl_sgemm: {}", dnnl_status2str(status)));
}

template <class T>
void linear_forward(Matrix<const T> x, Matrix<const T> w, const T* bias, Matrix<T> y, Scratch& scratch) {
  check(x.columns == w.columns && y.columns == w.rows && y.rows == x.rows, "shapes of x, w and y fit");
  product(Transpose::No, x, Transpose::Yes, w, Write::Replace, y, scratch);
  if (bias) add_rows(bias, y);
}

template <class T>
void linear_input_gradient(Matrix<const T> dy, Matrix<const T> w, Write write, Matrix<T> dx, Scratch& scratch) {
  check(dy.columns == w.rows && dx.columns == w.columns && dx.rows == dy.rows, "shapes of dy, w and dx fit");
  product(Transpose::No, dy, Transpose::No, w, write, dx, scratch);
}

template <class T>
void linear_weight_gradient(Matrix<const T> dy, Matrix<const T> x, Matrix<float> dw, Scratch& scratch) {
  check(dy.rows == x.rows && dw.rows == dy.columns && dw.columns == x.columns, "shapes of dy, x and dw fit");
  product(Transpose::Yes, dy, Transpose::No, x, Write::Accumulate, dw, scratch);
}

template <class T>
void bias_gradient(Matrix<const T> dy, float* dbias, Scratch& scratch) {
  const std::int64_t n = dy.columns;
  float* partial = scratch.floats(static_cast<std::size_t>(n * chunk_count));
  std::fill_n(partial, n * chunk_count, 0.0f);
  for_chunks(dy.rows, n, [=](int chunk, std::int64_t begin, std::int64_t end) {
    float* sum = partial + chunk * n;
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = dy.row(i);
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) sum[j] += to_float(row[j]);
    }
  });
  for (int chunk = 0; chunk < chunk_count; ++chunk)
    for (std::int64_t j = 0; j < n; ++j) dbias[j] += partial[chunk * n + j];
}

template <class T>
void grouped_linear_forward(std::span<const RowGroup> groups, Matrix<const T> x, const T* w, const T* bias,
                            Matrix<T> y, Scratch& scratch) {
  for (const RowGroup& group : groups) {
    linear_forward(rows_of(x, group), dense(w, y.columns, x.columns), bias, rows_of(y, group), scratch);
    w += y.columns * x.columns;
    if (bias) bias += y.columns;
  }
}

template <class T>
void grouped_linear_input_gradient(std::span<const RowGroup> groups, Matrix<const T> dy, const T* w,
                                   Write write, Matrix<T> dx, Scratch& scratch) {
  for (const RowGroup& group : groups) {
    linear_input_gradient(rows_of(dy, group), dense(w, dy.columns, dx.columns), write, rows_of(dx, group),
                          scratch);
    w += dy.columns * dx.columns;
  }
}

template <class T>
void grouped_linear_weight_gradient(std::span<const RowGroup> groups, Matrix<const T> dy, Matrix<const T> x,
                                    float* dw, Scratch& scratch) {
  for (const RowGroup& group : groups) {
    linear_weight_gradient(rows_of(dy, group), rows_of(x, group), dense(dw, dy.columns, x.columns), scratch);
    dw += dy.columns * x.columns;
  }
}

template <class T>
void grouped_bias_gradient(std::span<const RowGroup> groups, Matrix<const T> dy, float* dbias,
                           Scratch& scratch) {
  for (const RowGroup& group : groups) {
    bias_gradient(rows_of(dy, group), dbias, scratch);
    dbias += dy.columns;
  }
}

#define TANDEM_INSTANTIATE(T)                                                                                  \
  template void linear_forward<T>(Matrix<const T>, Matrix<const T>, const T*, Matrix<T>, Scratch&);            \
  template void linear_input_gradient<T>(Matrix<const T>, Matrix<const T>, Write, Matrix<T>, Scratch&);        \
  template void linear_weight_gradient<T>(Matrix<const T>, Matrix<const T>, Matrix<float>, Scratch&);          \
  template void bias_gradient<T>(Matrix<const T>, float*, Scratch&);                                           \
  template void grouped_linear_forward<T>(std::span<const RowGroup>, Matrix<const T>, const T*, const T*,      \
                                          Matrix<T>, Scratch&);                                                \
  template void grouped_linear_input_gradient<T>(std::span<const RowGroup>, Matrix<const T>, const T*, Write,  \
                                                 Matrix<T>, Scratch&);                                         \
  template void grouped_linear_weight_gradient<T>(std::span<const RowGroup>, Matrix<const T>, Matrix<const T>, \
                                                  float*, Scratch&);                                           \
  template void grouped_bias_gradient<T>(std::span<const RowGroup>, Matrix<const T>, float*, Scratch&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
