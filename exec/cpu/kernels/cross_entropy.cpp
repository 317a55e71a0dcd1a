// Cross entropy by rows; a row of logits is read twice forward and twice backward, mostly from cache.
#include "exec/cpu/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exec/cpu/kernels/exponential.h"
#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

// Columns of the shard that are words and not padding.
std::int64_t word_columns(const LogitShard& shard) {
  return std::clamp(shard.vocabulary - shard.first_column, std::int64_t{0}, shard.columns);
}

template <class T>
float row_maximum(std::int64_t columns, const T* logits) {
  float maximum = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : maximum)
  for (std::int64_t j = 0; j < columns; ++j) maximum = larger(maximum, to_float(logits[j]));
  return maximum;
}

template <class T>
float row_sum(std::int64_t columns, const T* logits, float maximum) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < columns; ++j) sum += exponential(to_float(logits[j]) - maximum);
  return sum;
}

}  // namespace

template <class T>
void local_max_sum_target(const LogitShard& shard, const T* logits, const std::int32_t* targets, float* maximum,
                          float* sum, float* target) {
  const std::int64_t columns = word_columns(shard);
  for_chunks(shard.rows, 8 * shard.columns, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = logits + i * shard.columns;
      maximum[i] = row_maximum(columns, row);
      sum[i] = row_sum(columns, row, maximum[i]);
      const std::int64_t column = targets[i] - shard.first_column;
      target[i] = targets[i] >= 0 && column >= 0 && column < columns ? to_float(row[column]) : 0;
    }
  });
}

void rescale_sums(std::int64_t rows, const float* local_maximum, const float* maximum, float* sum) {
  for (std::int64_t i = 0; i < rows; ++i)
    if (local_maximum[i] != maximum[i]) sum[i] *= exponential(local_maximum[i] - maximum[i]);
}

Loss cross_entropy(std::int64_t rows, const std::int32_t* targets, const float* maximum, const float* sum,
                   const float* target, float* row_losses) {
  Loss loss;
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool counts = targets[i] >= 0;
    const float row = counts ? std::log(sum[i]) + (maximum[i] - target[i]) : 0.0f;
    if (row_losses) row_losses[i] = row;
    loss.sum += static_cast<double>(row);
    loss.rows += counts;
  }
  return loss;
}

template <class T>
void cross_entropy_backward(const LogitShard& shard, const T* logits, const std::int32_t* targets,
                            const float* maximum, const float* sum, float scale, T* gradient) {
  const std::int64_t columns = word_columns(shard);
  for_chunks(shard.rows, 8 * shard.columns, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = logits + i * shard.columns;
      T* out = gradient + i * shard.columns;
      if (targets[i] < 0) {
        std::fill_n(out, shard.columns, T{});
        continue;
      }
      const std::int64_t column = targets[i] - shard.first_column;
      const float top = maximum[i], factor = scale / sum[i];
      const bool here = column >= 0 && column < columns;
      const float at_target = here ? exponential(to_float(row[column]) - top) * factor - scale : 0.0f;
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j)
        out[j] = rounded<T>(exponential(to_float(row[j]) - top) * factor);
      if (here) out[column] = rounded<T>(at_target);
      std::fill(out + columns, out + shard.columns, T{});
    }
  });
}

#define TANDEM_INSTANTIATE(T)                                                                             \
  template void local_max_sum_target<T>(const LogitShard&, const T*, const std::int32_t*, float*, float*, \
                                        float*);                                                          \
  template void cross_entropy_backward<T>(const LogitShard&, const T*, const std::int32_t*, const float*, \
                                          const float*, float, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
