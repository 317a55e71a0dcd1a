// Passes over memory.
#include "exec/cpu/kernels/elementwise.h"

#include <algorithm>

#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

// y[i] = f(i) for all i, vectorised.
template <class T, class F>
void for_each(std::int64_t count, T* y, const F& f) {
  for_chunks(count, 1, [=](int, std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) y[i] = rounded<T>(f(i));
  });
}

}  // namespace

template <class T>
void add(std::int64_t count, const T* a, const T* b, T* y) {
  for_each(count, y, [=](std::int64_t i) { return to_float(a[i]) + to_float(b[i]); });
}

template <class T>
void add(std::int64_t count, const T* a, const T* b, const T* c, T* y) {
  for_each(count, y, [=](std::int64_t i) { return to_float(a[i]) + to_float(b[i]) + to_float(c[i]); });
}

template <class From, class To>
void add_in_place(std::int64_t count, const From* x, To* y) {
  for_each(count, y, [=](std::int64_t i) { return to_float(y[i]) + to_float(x[i]); });
}

template <class T>
void add_bias(std::int64_t rows, std::int64_t width, const T* bias, T* y) {
  for_chunks(rows, width, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* row = y + i * width;
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) row[j] = rounded<T>(to_float(row[j]) + to_float(bias[j]));
    }
  });
}

template <class From, class To>
void copy(std::int64_t count, const From* x, To* y) {
  for_each(count, y, [=](std::int64_t i) { return to_float(x[i]); });
}

template <class T>
void fill_zero(std::int64_t count, T* y) {
  for_chunks(count, 1, [=](int, std::int64_t begin, std::int64_t end) { std::fill(y + begin, y + end, T{}); });
}

template <class T>
void scale(std::int64_t count, float factor, const T* x, T* y) {
  for_each(count, y, [=](std::int64_t i) { return factor * to_float(x[i]); });
}

template <class T>
void scale_rows(std::int64_t rows, std::int64_t width, const T* x, const T* factors, T* y) {
  for_chunks(rows, width, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float factor = to_float(factors[i]);
#pragma omp simd
      for (std::int64_t j = i * width; j < (i + 1) * width; ++j) y[j] = rounded<T>(factor * to_float(x[j]));
    }
  });
}

template <class T>
void scale_rows_backward(std::int64_t rows, std::int64_t width, const T* x, const T* factors, const T* dy,
                         T* dx, T* dfactors) {
  for_chunks(rows, width, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float factor = to_float(factors[i]);
      float product = 0;
#pragma omp simd reduction(+ : product)
      for (std::int64_t j = i * width; j < (i + 1) * width; ++j) {
        const float gradient = to_float(dy[j]);
        product += to_float(x[j]) * gradient;
        dx[j] = rounded<T>(factor * gradient);
      }
      dfactors[i] = rounded<T>(product);
    }
  });
}

#define TANDEM_INSTANTIATE(T)                                                      \
  template void add<T>(std::int64_t, const T*, const T*, T*);                      \
  template void add<T>(std::int64_t, const T*, const T*, const T*, T*);            \
  template void add_in_place<T, T>(std::int64_t, const T*, T*);                    \
  template void add_bias<T>(std::int64_t, std::int64_t, const T*, T*);             \
  template void copy<float, T>(std::int64_t, const float*, T*);                    \
  template void copy<Bf16, T>(std::int64_t, const Bf16*, T*);                      \
  template void fill_zero<T>(std::int64_t, T*);                                    \
  template void scale<T>(std::int64_t, float, const T*, T*);                       \
  template void scale_rows<T>(std::int64_t, std::int64_t, const T*, const T*, T*); \
  template void scale_rows_backward<T>(std::int64_t, std::int64_t, const T*, const T*, const T*, T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE
template void add_in_place<Bf16, float>(std::int64_t, const Bf16*, float*);

}  // namespace tandem::cpu
