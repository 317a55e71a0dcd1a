// Layer norm and RMS norm, one row after another while it is in the first-level cache.
#include "exec/cpu/kernels/norm.h"

#include <algorithm>
#include <cmath>

#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

struct Statistics {
  float mean = 0, inverse = 0;  // inverse: 1 / standard deviation, or 1 / root of the mean square
};

template <class T>
Statistics statistics(const NormShape& shape, const T* x) {
  const std::int64_t n = shape.width;
  const float count = static_cast<float>(n);
  Statistics s;
  if (shape.norm == Norm::Layer) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) sum += to_float(x[j]);
    s.mean = sum / count;
  }
  float squares = 0;
  const float mean = s.mean;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t j = 0; j < n; ++j) {
    const float centred = to_float(x[j]) - mean;
    squares += centred * centred;
  }
  s.inverse = 1 / std::sqrt(squares / count + shape.epsilon);
  return s;
}

// With h = (x - mean) inverse and w = dy weight: dx = inverse (w - mean(w) - h mean(w h)); RMS norm has no
// mean(w).
template <class T>
void row_backward(const NormShape& shape, const T* x, const T* weight, const T* dy, Write write, T* dx,
                  float* dweight, float* dbias) {
  const std::int64_t n = shape.width;
  const auto [mean, inverse] = statistics(shape, x);
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (std::int64_t j = 0; j < n; ++j) {
    const float h = (to_float(x[j]) - mean) * inverse, g = to_float(dy[j]);
    const float w = g * to_float(weight[j]);
    sum += w;
    product += w * h;
    dweight[j] += g * h;
    dbias[j] += g;
  }
  const float mean_w = shape.norm == Norm::Layer ? sum / static_cast<float>(n) : 0;
  const float mean_wh = product / static_cast<float>(n);
  const auto gradient = [&](std::int64_t j) {
    const float h = (to_float(x[j]) - mean) * inverse;
    return inverse * (to_float(dy[j]) * to_float(weight[j]) - mean_w - h * mean_wh);
  };
  if (write == Write::Replace) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) dx[j] = rounded<T>(gradient(j));
  } else {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) dx[j] = rounded<T>(to_float(dx[j]) + gradient(j));
  }
}

}  // namespace

template <class T>
void norm_forward(const NormShape& shape, const T* x, const T* weight, const T* bias, T* y) {
  const std::int64_t n = shape.width;
  for_chunks(shape.rows, n, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* in = x + i * n;
      T* out = y + i * n;
      const auto [mean, inverse] = statistics(shape, in);
      if (bias) {
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j)
          out[j] = rounded<T>((to_float(in[j]) - mean) * inverse * to_float(weight[j]) + to_float(bias[j]));
      } else {
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j)
          out[j] = rounded<T>((to_float(in[j]) - mean) * inverse * to_float(weight[j]));
      }
    }
  });
}

template <class T>
void norm_backward(const NormShape& shape, const T* x, const T* weight, const T* dy, Write write, T* dx,
                   float* dweight, float* dbias, Scratch& scratch) {
  const std::int64_t n = shape.width;
  float* partial =
      scratch.floats(static_cast<std::size_t>(2 * n * chunk_count));  // [chunk][dweight, dbias][width]
  std::fill_n(partial, 2 * n * chunk_count, 0.0f);
  for_chunks(shape.rows, n, [=](int chunk, std::int64_t begin, std::int64_t end) {
    float* of_weight = partial + 2 * n * chunk;
    for (std::int64_t i = begin; i < end; ++i)
      row_backward(shape, x + i * n, weight, dy + i * n, write, dx + i * n, of_weight, of_weight + n);
  });
  for (int chunk = 0; chunk < chunk_count; ++chunk) {
    const float* of_weight = partial + 2 * n * chunk;
    for (std::int64_t j = 0; j < n; ++j) dweight[j] += of_weight[j];
    if (!dbias) continue;
    for (std::int64_t j = 0; j < n; ++j) dbias[j] += of_weight[n + j];
  }
}

#define TANDEM_INSTANTIATE(T)                                                                               \
  template void norm_forward<T>(const NormShape&, const T*, const T*, const T*, T*);                        \
  template void norm_backward<T>(const NormShape&, const T*, const T*, const T*, Write, T*, float*, float*, \
                                 Scratch&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
