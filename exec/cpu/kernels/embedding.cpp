// Rows of a table by id, and their gradients.
#include "exec/cpu/kernels/embedding.h"

#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {

template <class T>
void embedding_forward(const TableShard& shard, std::int64_t count, const std::int32_t* ids, const T* table,
                       Write write, T* y) {
  const std::int64_t n = shard.width;
  for_chunks(count, n, [=](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = ids[i] - shard.first_row;
      const bool here = row >= 0 && row < shard.rows;
      const T* source = table + (here ? row * n : 0);
      T* out = y + i * n;
      if (write == Write::Replace) {
        for (std::int64_t j = 0; j < n; ++j) out[j] = here ? source[j] : T{};
      } else if (here) {
        for (std::int64_t j = 0; j < n; ++j) out[j] = rounded<T>(to_float(out[j]) + to_float(source[j]));
      }
    }
  });
}

template <class T>
void embedding_backward(const TableShard& shard, std::int64_t count, const std::int32_t* ids, const T* dy,
                        float* dtable) {
  const std::int64_t n = shard.width;
  // Each chunk owns the rows of one remainder, so that frequent ids, which are often neighbours, spread over
  // chunks.
  for_chunks(chunk_count, count * n / chunk_count, [=](int chunk, std::int64_t, std::int64_t) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = ids[i] - shard.first_row;
      if (row < 0 || row >= shard.rows || row % chunk_count != chunk) continue;
      const T* gradient = dy + i * n;
      float* out = dtable + row * n;
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) out[j] += to_float(gradient[j]);
    }
  });
}

#define TANDEM_INSTANTIATE(T)                                                                               \
  template void embedding_forward<T>(const TableShard&, std::int64_t, const std::int32_t*, const T*, Write, \
                                     T*);                                                                   \
  template void embedding_backward<T>(const TableShard&, std::int64_t, const std::int32_t*, const T*, float*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
