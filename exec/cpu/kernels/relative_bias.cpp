// Buckets of distances (Raffel et al. 2020; formula of Mesh TensorFlow's transformer_layers.py).
#include "exec/cpu/kernels/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "exec/cpu/kernels/attention_tiles.h"

namespace tandem::cpu {

std::int64_t relative_bucket(const RelativeBias& bias, std::int64_t distance) {
  std::int64_t buckets = bias.buckets, first = 0;
  if (bias.bidirectional) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  const double share = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(bias.max_distance) / static_cast<double>(exact));
  const auto step = static_cast<std::int64_t>(share * static_cast<double>(buckets - exact));
  return first + std::min(exact + step, buckets - 1);
}

void bias_by_distance(const RelativeBias& bias, std::int64_t heads, float* by_distance) {
  const std::int64_t count = distance_count(bias);
  for (std::int64_t i = 0; i < count; ++i) {
    const float* row = bias.table + relative_bucket(bias, i - bias.max_distance) * heads;
    for (std::int64_t h = 0; h < heads; ++h) by_distance[h * count + i] = row[h];
  }
}

void add_bias_gradient(const RelativeBias& bias, std::int64_t batch, std::int64_t heads,
                       const float* by_distance) {
  const std::int64_t count = distance_count(bias);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < count; ++i) {
      float* row = bias.gradient + relative_bucket(bias, i - bias.max_distance) * heads;
      for (std::int64_t h = 0; h < heads; ++h) row[h] += by_distance[(b * heads + h) * count + i];
    }
}

void add_bias(const RelativeBias& bias, std::int64_t rows, std::int64_t columns, const std::int32_t* queries,
              const std::int32_t* keys, const float* by_distance, float* scores) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      scores[i * tile + j] += by_distance[distance_index(bias, queries[i], keys[j])];
}

void add_to_distances(const RelativeBias& bias, std::int64_t rows, std::int64_t columns,
                      const std::int32_t* queries, const std::int32_t* keys, const float* ds, float* sums) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      sums[distance_index(bias, queries[i], keys[j])] += ds[i * tile + j];
}

}  // namespace tandem::cpu
