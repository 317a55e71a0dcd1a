// Rows to the order of their experts and back.
#include <algorithm>
#include <utility>

#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/router.h"

namespace tandem::cpu {
namespace {

// f(slot, row, place) for each slot that is not left out; the slots of a row go to one thread, in their order.
template <class F>
void for_slots(const RouterShape& shape, std::int64_t width, const std::int32_t* positions, const F& f) {
  for_chunks(shape.rows, shape.top_k * width, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t slot = begin * shape.top_k; slot < end * shape.top_k; ++slot)
      if (positions[slot] >= 0) f(slot, slot / shape.top_k, static_cast<std::int64_t>(positions[slot]));
  });
}

// y [rows, width] = the sum of term(slot, element of the slot's row) over each row's slots, in fp32 until it is
// rounded.
template <class T, class F>
void sum_slots(const RouterShape& shape, std::int64_t width, const std::int32_t* positions, T* y,
               const F& term) {
  constexpr std::int64_t block = 64;  // columns whose sums stay in registers
  for_chunks(shape.rows, shape.top_k * width, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t first = 0; first < width; first += block) {
        const std::int64_t columns = std::min(block, width - first);
        float sum[block] = {};
        for (std::int64_t slot = i * shape.top_k; slot < (i + 1) * shape.top_k; ++slot) {
          if (positions[slot] < 0) continue;
          const std::int64_t at = positions[slot] * width + first;
#pragma omp simd
          for (std::int64_t j = 0; j < columns; ++j) sum[j] += term(slot, at + j);
        }
        for (std::int64_t j = 0; j < columns; ++j) y[i * width + first + j] = rounded<T>(sum[j]);
      }
    }
  });
}

// out = weight times the gradient; gives the product of gradient and value.
template <class T>
float scale_and_dot(std::int64_t width, float weight, const T* gradient, const T* value, T* out) {
  float product = 0;
#pragma omp simd reduction(+ : product)
  for (std::int64_t j = 0; j < width; ++j) {
    const float g = to_float(gradient[j]);
    product += g * to_float(value[j]);
    out[j] = rounded<T>(weight * g);
  }
  return product;
}

}  // namespace

void sort_by_expert(const RouterShape& shape, const std::int32_t* experts, std::int64_t* counts,
                    std::int32_t* positions) {
  const std::int64_t slots = shape.rows * shape.top_k;
  std::fill_n(counts, shape.experts, std::int64_t{0});
  // First each slot's place among those of its expert, then the places before the expert's first.
  for (std::int64_t slot = 0; slot < slots; ++slot)
    positions[slot] = static_cast<std::int32_t>(counts[experts[slot]]++);
  std::int64_t before = 0;
  for (std::int64_t e = 0; e < shape.experts; ++e) before += std::exchange(counts[e], before);
  for (std::int64_t slot = 0; slot < slots; ++slot)
    positions[slot] += static_cast<std::int32_t>(counts[experts[slot]]);
  for (std::int64_t e = 0; e < shape.experts; ++e)
    counts[e] = (e + 1 < shape.experts ? counts[e + 1] : before) - counts[e];
}

template <class T>
void dispatch_rows(const RouterShape& shape, std::int64_t width, const std::int32_t* positions, const T* x,
                   T* y) {
  for_slots(shape, width, positions, [=](std::int64_t, std::int64_t row, std::int64_t place) {
    std::copy_n(x + row * width, width, y + place * width);
  });
}

template <class T>
void dispatch_rows_backward(const RouterShape& shape, std::int64_t width, const std::int32_t* positions,
                            const T* dy, T* dx) {
  sum_slots(shape, width, positions, dx, [=](std::int64_t, std::int64_t at) { return to_float(dy[at]); });
}

template <class T>
void combine_rows(const RouterShape& shape, std::int64_t width, const std::int32_t* positions,
                  const float* weights, const T* x, T* y) {
  sum_slots(shape, width, positions, y,
            [=](std::int64_t slot, std::int64_t at) { return weights[slot] * to_float(x[at]); });
}

template <class T>
void combine_rows_backward(const RouterShape& shape, std::int64_t width, const std::int32_t* positions,
                           const float* weights, const T* x, const T* dy, T* dx, float* dweights) {
  std::fill_n(dweights, shape.rows * shape.top_k, 0.0f);
  for_slots(shape, width, positions, [=](std::int64_t slot, std::int64_t row, std::int64_t place) {
    dweights[slot] =
        scale_and_dot(width, weights[slot], dy + row * width, x + place * width, dx + place * width);
  });
}

#define TANDEM_INSTANTIATE(T)                                                                                  \
  template void dispatch_rows<T>(const RouterShape&, std::int64_t, const std::int32_t*, const T*, T*);         \
  template void dispatch_rows_backward<T>(const RouterShape&, std::int64_t, const std::int32_t*, const T*,     \
                                          T*);                                                                 \
  template void combine_rows<T>(const RouterShape&, std::int64_t, const std::int32_t*, const float*, const T*, \
                                T*);                                                                           \
  template void combine_rows_backward<T>(const RouterShape&, std::int64_t, const std::int32_t*, const float*,  \
                                         const T*, const T*, T*, float*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
