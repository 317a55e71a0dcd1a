// oneDNN's matmul primitive over bf16, or dnnl_sgemm over fp32 copies where there is none.
#include "exec/cpu/kernels/bf16_product.h"

#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

template <class T>
constexpr auto data_type =
    std::is_same_v<T, float> ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;

// The operand as a matrix of `rows` x `columns` after its transposition, which is a matter of strides alone.
template <class T>
dnnl::memory::desc description(Transpose transpose, Matrix<T> m) {
  using Element = std::remove_const_t<T>;
  if (transpose == Transpose::No) return {{m.rows, m.columns}, data_type<Element>, {m.stride, 1}};
  return {{m.columns, m.rows}, data_type<Element>, {1, m.stride}};
}

// Empty where this machine has no bf16 product. oneDNN keeps made primitives itself; asking again costs some 20
// us.
template <class Result>
std::optional<dnnl::matmul::primitive_desc> find_product(const dnnl::engine& engine,
                                                         const dnnl::memory::desc& a,
                                                         const dnnl::memory::desc& b, Write write,
                                                         Matrix<Result> c) {
  dnnl::primitive_attr attributes;
  if (write == Write::Accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::desc operation(a, b, description(Transpose::No, c));
  dnnl::matmul::primitive_desc found(operation, attributes, engine, true);
  if (!found) return std::nullopt;
  return found;
}

float* widen(Matrix<const Bf16> from, float* to) {
  for_chunks(from.rows, from.columns, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Bf16* row = from.row(i);
#pragma omp simd
      for (std::int64_t j = 0; j < from.columns; ++j) to[i * from.columns + j] = to_float(row[j]);
    }
  });
  return to + from.rows * from.columns;
}

void narrow(const float* from, Write write, Matrix<Bf16> to) {
  for_chunks(to.rows, to.columns, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Bf16* row = to.row(i);
      for (std::int64_t j = 0; j < to.columns; ++j) {
        const float before = write == Write::Accumulate ? to_float(row[j]) : 0;
        row[j] = rounded<Bf16>(before + from[i * to.columns + j]);
      }
    }
  });
}

template <class Result>
void product_of_copies(Transpose transpose_a, Matrix<const Bf16> a, Transpose transpose_b, Matrix<const Bf16> b,
                       Write write, Matrix<Result> c, Scratch& scratch) {
  float* copy_a =
      scratch.floats(static_cast<std::size_t>(a.rows * a.columns + b.rows * b.columns + c.rows * c.columns));
  float* copy_b = widen(a, copy_a);
  float* result = widen(b, copy_b);
  const Matrix<const float> wide_a = dense<const float>(copy_a, a.rows, a.columns);
  const Matrix<const float> wide_b = dense<const float>(copy_b, b.rows, b.columns);
  if constexpr (std::is_same_v<Result, float>) {
    gemm(transpose_a, wide_a, transpose_b, wide_b, write, c);
  } else {
    gemm(transpose_a, wide_a, transpose_b, wide_b, Write::Replace, dense(result, c.rows, c.columns));
    narrow(result, write, c);
  }
}

}  // namespace

template <class Result>
void bf16_product(Transpose transpose_a, Matrix<const Bf16> a, Transpose transpose_b, Matrix<const Bf16> b,
                  Write write, Matrix<Result> c, Scratch& scratch) {
  if (c.rows == 0 || c.columns == 0) return;
  const bool empty = a.rows == 0 || a.columns == 0;
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const auto a_description = description(transpose_a, a), b_description = description(transpose_b, b);
    const auto found = empty ? std::nullopt : find_product(engine, a_description, b_description, write, c);
    if (!found) return product_of_copies(transpose_a, a, transpose_b, b, write, c, scratch);
    dnnl::stream stream(engine);
    // oneDNN's handles are not const, but a source is only read.
    dnnl::matmul(*found).execute(stream,
                                 {{DNNL_ARG_SRC, {a_description, engine, const_cast<Bf16*>(a.data)}},
                                  {DNNL_ARG_WEIGHTS, {b_description, engine, const_cast<Bf16*>(b.data)}},
                                  {DNNL_ARG_DST, {found->dst_desc(), engine, c.data}}});
    stream.wait();
  } catch (const dnnl::error& error) {
    throw BackendError(fmt::format("oneDNN matmul: {}", error.what()));
  }
}

template void bf16_product<Bf16>(Transpose, Matrix<const Bf16>, Transpose, Matrix<const Bf16>, Write,
                                 Matrix<Bf16>, Scratch&);
template void bf16_product<float>(Transpose, Matrix<const Bf16>, Transpose, Matrix<const Bf16>, Write,
                                  Matrix<float>, Scratch&);

}  // namespace tandem::cpu
