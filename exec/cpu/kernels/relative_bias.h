// Relative position bias by distance: buckets are looked up once, kernels then read a table of distances.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/attention_shape.h"

namespace tandem::cpu {

// T5's bucket of the distance from query to key (key position - query position).
std::int64_t relative_bucket(const RelativeBias& bias, std::int64_t distance);

// Distances beyond max_distance share a bucket: they are cut to it.
inline std::int64_t distance_count(const RelativeBias& bias) {
  return bias.table ? 2 * bias.max_distance + 1 : 0;
}
inline std::int64_t distance_index(const RelativeBias& bias, std::int32_t query, std::int32_t key) {
  const std::int64_t distance = static_cast<std::int64_t>(key) - query;
  const std::int64_t cut = distance < -bias.max_distance  ? -bias.max_distance
                           : distance > bias.max_distance ? bias.max_distance
                                                          : distance;
  return cut + bias.max_distance;
}

// by_distance [heads, distance_count]: each head's bias.
void bias_by_distance(const RelativeBias& bias, std::int64_t heads, float* by_distance);
// gradient of the table += that of distances, [batch, heads, distance_count], sequence after sequence.
void add_bias_gradient(const RelativeBias& bias, std::int64_t batch, std::int64_t heads,
                       const float* by_distance);

// scores [rows, columns] of a tile += the biases of one head.
void add_bias(const RelativeBias& bias, std::int64_t rows, std::int64_t columns, const std::int32_t* queries,
              const std::int32_t* keys, const float* by_distance, float* scores);
// sums [distance_count] += the gradients of a tile's scores.
void add_to_distances(const RelativeBias& bias, std::int64_t rows, std::int64_t columns,
                      const std::int32_t* queries, const std::int32_t* keys, const float* ds, float* sums);

}  // namespace tandem::cpu
