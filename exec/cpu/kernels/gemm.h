// Matrix products: the general one, and the three of a linear layer y = x w^T (+ bias), also grouped by expert.
#pragma once
#include <span>

#include "exec/cpu/kernels/element.h"
#include "exec/cpu/kernels/matrix.h"
#include "exec/cpu/kernels/scratch.h"

namespace tandem::cpu {

enum class Transpose : std::uint8_t { No, Yes };

// c = alpha op(a) op(b), or added to c, in fp32. Shapes must fit: op(a) is m x k, op(b) k x n, c m x n.
void gemm(Transpose transpose_a, Matrix<const float> a, Transpose transpose_b, Matrix<const float> b,
          Write write, Matrix<float> c, float alpha = 1);

// T is float or Bf16. x [rows, in], w [out, in], y [rows, out], bias [out] or null.
template <class T>
void linear_forward(Matrix<const T> x, Matrix<const T> w, const T* bias, Matrix<T> y, Scratch& scratch);
// dx = dy w, or added to dx.
template <class T>
void linear_input_gradient(Matrix<const T> dy, Matrix<const T> w, Write write, Matrix<T> dx, Scratch& scratch);
// dw += dy^T x, in fp32.
template <class T>
void linear_weight_gradient(Matrix<const T> dy, Matrix<const T> x, Matrix<float> dw, Scratch& scratch);
// dbias += the sum of dy's rows, in fp32.
template <class T>
void bias_gradient(Matrix<const T> dy, float* dbias, Scratch& scratch);

// The rows of one expert, of the matrices that all experts share.
struct RowGroup {
  std::int64_t begin = 0, rows = 0;
};
// Group g's rows use the g-th of the stacked weights [groups][out][in] and biases [groups][out] (or null). Rows
// in no group are left as they are.
template <class T>
void grouped_linear_forward(std::span<const RowGroup> groups, Matrix<const T> x, const T* w, const T* bias,
                            Matrix<T> y, Scratch& scratch);
template <class T>
void grouped_linear_input_gradient(std::span<const RowGroup> groups, Matrix<const T> dy, const T* w,
                                   Write write, Matrix<T> dx, Scratch& scratch);
// dw [groups][out][in] +=.
template <class T>
void grouped_linear_weight_gradient(std::span<const RowGroup> groups, Matrix<const T> dy, Matrix<const T> x,
                                    float* dw, Scratch& scratch);
// dbias [groups][out] +=.
template <class T>
void grouped_bias_gradient(std::span<const RowGroup> groups, Matrix<const T> dy, float* dbias,
                           Scratch& scratch);

}  // namespace tandem::cpu
