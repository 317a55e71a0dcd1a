// Tiles of flash attention, 64 queries by 64 keys in fp32: loading them and their products.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"

namespace tandem::cpu {

inline constexpr std::int64_t tile = 64;

// One AVX-512 register, or several smaller ones where the machine has no more.
inline constexpr std::int64_t lanes = 16;
typedef float Vector __attribute__((vector_size(lanes * sizeof(float)), aligned(4), may_alias));

inline std::int64_t rounded_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

inline Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
inline void store(Vector values, float* to) { *reinterpret_cast<Vector*>(to) = values; }

// Loaded once into a register: otherwise GCC lets each of four FMAs read the value from memory, which takes as
// long again as the arithmetic (255 against 190 GF/s).
inline Vector in_register(Vector values) {
#if defined(__AVX512F__)
  asm("" : "+v"(values));
#endif
  return values;
}

// An operand of a product that is read one element at a time: element (i, k) is data[i row_step + k
// depth_step].
struct Scalars {
  const float* data;
  std::int64_t row_step, depth_step;
};

// What a product does with the rows that it finds: multiplies row i by factor[i] and adds, adds, or replaces
// them.
enum class Into : std::uint8_t { Scaled, Added, Replaced };

// c [4, 16 Vectors] = a [4, depth] b [depth, 16 Vectors] into c. Sixteen accumulators hide the latency of FMA.
template <Into into, int Vectors>
inline __attribute__((always_inline)) void multiply_four_rows(std::int64_t depth, Scalars a, const float* b,
                                                              std::int64_t b_stride, float* c,
                                                              std::int64_t c_stride, const float* factor) {
  Vector sum[4][Vectors];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < Vectors; ++j) {
      sum[i][j] = into == Into::Replaced ? Vector{} : load(c + i * c_stride + j * lanes);
      if (into == Into::Scaled) sum[i][j] *= factor[i];
    }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector row[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) row[j] = in_register(load(b + k * b_stride + j * lanes));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const float scalar = a.data[i * a.row_step + k * a.depth_step];
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[i][j] += scalar * row[j];
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < Vectors; ++j) store(sum[i][j], c + i * c_stride + j * lanes);
}

// c [rows, columns] = a b into c; rows a multiple of 4, columns of 16. `factor` [rows] only for Into::Scaled.
template <Into into>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t depth, Scalars a, const float* b,
              std::int64_t b_stride, float* c, std::int64_t c_stride, const float* factor = nullptr) {
  for (std::int64_t j = 0; j < columns; j += 4 * lanes) {
    const std::int64_t vectors = (columns - j) / lanes;
    for (std::int64_t i = 0; i < rows; i += 4) {
      const Scalars of_rows = {a.data + i * a.row_step, a.row_step, a.depth_step};
      const float* of_factor = into == Into::Scaled ? factor + i : nullptr;
      float* out = c + i * c_stride + j;
      if (vectors >= 4) {
        multiply_four_rows<into, 4>(depth, of_rows, b + j, b_stride, out, c_stride, of_factor);
      } else if (vectors == 3) {
        multiply_four_rows<into, 3>(depth, of_rows, b + j, b_stride, out, c_stride, of_factor);
      } else if (vectors == 2) {
        multiply_four_rows<into, 2>(depth, of_rows, b + j, b_stride, out, c_stride, of_factor);
      } else {
        multiply_four_rows<into, 1>(depth, of_rows, b + j, b_stride, out, c_stride, of_factor);
      }
    }
  }
}

// to [padded_rows, to_stride] = factor times rows of `from`, zero in the padding.
template <class T>
void load_rows(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, float factor,
               float* to, std::int64_t padded_rows, std::int64_t to_stride) {
  for (std::int64_t i = 0; i < padded_rows; ++i) {
    float* out = to + i * to_stride;
    const std::int64_t filled = i < rows ? columns : 0;
    const T* in = from + i * from_stride;
#pragma omp simd
    for (std::int64_t j = 0; j < filled; ++j) out[j] = factor * to_float(in[j]);
    for (std::int64_t j = filled; j < to_stride; ++j) out[j] = 0;
  }
}

// to [columns, 64] = the transposed rows of `from`, at most 64, zero in the padding.
template <class T>
void load_transposed(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                     float* to) {
  for (std::int64_t first = 0; first < tile; first += lanes) {
    const std::int64_t filled = rows < first ? 0 : rows - first < lanes ? rows - first : lanes;
    for (std::int64_t j = 0; j < columns; ++j) {
      float* out = to + j * tile + first;
      for (std::int64_t i = 0; i < lanes; ++i)
        out[i] = i < filled ? to_float(from[(first + i) * from_stride + j]) : 0;
    }
  }
}

}  // namespace tandem::cpu
