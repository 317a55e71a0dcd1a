// Cross entropy over a vocabulary whose columns may be divided over ranks (Shoeybi et al. 2019, section 3).
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"

namespace tandem::cpu {

// Columns first_column … first_column + columns - 1 of the padded logits, [rows, columns]. Columns from
// `vocabulary` on are padding: no probability and no gradient.
struct LogitShard {
  std::int64_t rows = 0, columns = 0, first_column = 0, vocabulary = 0;
};

// Of each row's own columns: the maximum (minus infinity if all are padding), the sum of exp(z - maximum), and
// the logit of the target, 0 if another rank holds it or the target is below 0 (a row without loss).
template <class T>
void local_max_sum_target(const LogitShard& shard, const T* logits, const std::int32_t* targets, float* maximum,
                          float* sum, float* target);
// Between the exchanges of maxima and sums: sum[i] to the common maximum.
void rescale_sums(std::int64_t rows, const float* local_maximum, const float* maximum, float* sum);

struct Loss {
  double sum = 0;  // of all rows with a target, in their order
  std::int64_t rows = 0;
};
// Of the exchanged values; row_losses [rows] may be null.
Loss cross_entropy(std::int64_t rows, const std::int32_t* targets, const float* maximum, const float* sum,
                   const float* target, float* row_losses);

// gradient = (softmax - one-hot) scale, 0 in rows without loss; may lie where the logits do.
template <class T>
void cross_entropy_backward(const LogitShard& shard, const T* logits, const std::int32_t* targets,
                            const float* maximum, const float* sum, float scale, T* gradient);

}  // namespace tandem::cpu
