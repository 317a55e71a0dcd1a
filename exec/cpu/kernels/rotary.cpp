// Rotation of pairs (x[j], x[j + rotary_dim / 2]) by position / base^(2 j / rotary_dim).
#include "exec/cpu/kernels/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

// Of a whole number of turns plus a part of one, by the series of sine and cosine in double up to half a turn:
// 1e-11. Written out so that a loop over it becomes vector code, which calls of the library do not.
void sine_and_cosine(double turns, float& sine, float& cosine) {
  constexpr double round_to_whole = 6755399441055744.0;  // 1.5 2^52
  const double part = turns - ((turns + round_to_whole) - round_to_whole);
  const double x = 2 * std::numbers::pi * part, square = -x * x;
  double s = 1, c = 1;
#pragma GCC unroll 11
  for (int k = 11; k > 0; --k) {
    s = 1 + s * square / ((2 * k) * (2 * k + 1));
    c = 1 + c * square / ((2 * k - 1) * (2 * k));
  }
  sine = static_cast<float>(x * s);
  cosine = static_cast<float>(c);
}

// out may be in.
template <class T>
void rotate_head(const RotaryShape& shape, const float* cosine, const float* sine, const T* in, T* out) {
  const std::int64_t half = shape.rotary_dim / 2;
#pragma omp simd
  for (std::int64_t j = 0; j < half; ++j) {
    const float a = to_float(in[j]), b = to_float(in[half + j]);
    out[j] = rounded<T>(a * cosine[j] - b * sine[j]);
    out[half + j] = rounded<T>(b * cosine[j] + a * sine[j]);
  }
  if (in != out) std::copy(in + shape.rotary_dim, in + shape.head_dim, out + shape.rotary_dim);
}

// direction 1 rotates by the position, -1 back.
template <class T>
void rotate(const RotaryShape& shape, double direction, const std::int32_t* positions, const T* in, T* out,
            Scratch& scratch) {
  check(shape.rotary_dim % 2 == 0 && shape.rotary_dim <= shape.head_dim, "rotary_dim is even and fits a head");
  const std::int64_t half = shape.rotary_dim / 2, rotated = shape.heads + shape.kv_heads,
                     values = shape.kv_heads * shape.v_head_dim, width = rotated * shape.head_dim + values;
  // [half] turns a position in double, then [chunk][cosines, sines].
  float* memory = scratch.floats(static_cast<std::size_t>(2 * half * (chunk_count + 1)));
  double* frequency = reinterpret_cast<double*>(memory);
  for (std::int64_t j = 0; j < half; ++j) {
    const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(shape.rotary_dim);
    frequency[j] = direction * std::pow(static_cast<double>(shape.base), exponent) / (2 * std::numbers::pi);
  }
  for_chunks(shape.rows, width, [=](int chunk, std::int64_t begin, std::int64_t end) {
    float *cosine = memory + 2 * half * (chunk + 1), *sine = cosine + half;
    for (std::int64_t i = begin; i < end; ++i) {
      const double position = positions[i];
#pragma omp simd
      for (std::int64_t j = 0; j < half; ++j) sine_and_cosine(position * frequency[j], sine[j], cosine[j]);
      const T* row = in + i * width;
      T* result = out + i * width;
      for (std::int64_t head = 0; head < rotated; ++head)
        rotate_head(shape, cosine, sine, row + head * shape.head_dim, result + head * shape.head_dim);
      if (row != result) std::copy(row + width - values, row + width, result + width - values);
    }
  });
}

}  // namespace

template <class T>
void rotary_forward(const RotaryShape& shape, const std::int32_t* positions, const T* qkv, T* out,
                    Scratch& scratch) {
  rotate(shape, 1, positions, qkv, out, scratch);
}

template <class T>
void rotary_backward(const RotaryShape& shape, const std::int32_t* positions, const T* dout, T* din,
                     Scratch& scratch) {
  rotate(shape, -1, positions, dout, din, scratch);
}

#define TANDEM_INSTANTIATE(T)                                                                       \
  template void rotary_forward<T>(const RotaryShape&, const std::int32_t*, const T*, T*, Scratch&); \
  template void rotary_backward<T>(const RotaryShape&, const std::int32_t*, const T*, T*, Scratch&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
