// Cross entropy in shards against the definition.
#include "exec/cpu/kernels/cross_entropy.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t rows = 9, vocabulary = 34, padded = 36;

// Summed loss over rows with a target.
double reference(const Doubles& logits, const std::vector<std::int32_t>& targets) {
  double loss = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    double sum = 0;
    for (std::size_t j = 0; j < vocabulary; ++j) sum += std::exp(logits[i * padded + j]);
    loss += std::log(sum) - logits[i * padded + static_cast<std::size_t>(targets[i])];
  }
  return loss;
}

struct Statistics {
  std::vector<float> maximum = std::vector<float>(rows), sum = maximum, target = maximum;
};

template <class T>
class CrossEntropyKernel : public ::testing::Test {
 protected:
  std::vector<T> logits = random_values<T>(rows * padded, 1, 5);
  std::vector<std::int32_t> targets = {0, 11, 12, 23, 24, 33, -1, 5, 30};

  // What `shards` ranks compute together; each gets its columns of the gradient back into its place.
  std::vector<T> gradient_of(int shards, Loss& loss) {
    const std::int64_t columns = padded / shards;
    std::vector<std::vector<T>> parts(shards);
    std::vector<Statistics> local(shards);
    Statistics all;
    std::fill(all.maximum.begin(), all.maximum.end(), -INFINITY);
    for (int s = 0; s < shards; ++s) {
      for (std::int64_t i = 0; i < rows; ++i)
        parts[s].insert(parts[s].end(), &logits[i * padded + s * columns],
                        &logits[i * padded + s * columns] + columns);
      local_max_sum_target(shard(s, columns), parts[s].data(), targets.data(), local[s].maximum.data(),
                           local[s].sum.data(), local[s].target.data());
      for (std::int64_t i = 0; i < rows; ++i) all.maximum[i] = std::max(all.maximum[i], local[s].maximum[i]);
    }
    for (int s = 0; s < shards; ++s) {
      rescale_sums(rows, local[s].maximum.data(), all.maximum.data(), local[s].sum.data());
      for (std::int64_t i = 0; i < rows; ++i) {
        all.sum[i] += local[s].sum[i];
        all.target[i] += local[s].target[i];
      }
    }
    loss = cross_entropy(rows, targets.data(), all.maximum.data(), all.sum.data(), all.target.data(), nullptr);
    std::vector<T> gradient = filled<T>(rows * padded, 9);
    for (int s = 0; s < shards; ++s) {
      cross_entropy_backward(shard(s, columns), parts[s].data(), targets.data(), all.maximum.data(),
                             all.sum.data(), 0.5f, parts[s].data());
      for (std::int64_t i = 0; i < rows; ++i)
        std::copy_n(&parts[s][i * columns], columns, &gradient[i * padded + s * columns]);
    }
    return gradient;
  }
  static LogitShard shard(int place, std::int64_t columns) {
    return {.rows = rows, .columns = columns, .first_column = place * columns, .vocabulary = vocabulary};
  }
};
TYPED_TEST_SUITE(CrossEntropyKernel, StorageTypes);

TYPED_TEST(CrossEntropyKernel, OneOrThreeShardsGiveTheDefinitionsLossAndGradient) {
  using T = TypeParam;
  const Doubles logits = doubles(this->logits);
  Doubles expected = numeric_gradient([&](const Doubles& at) { return reference(at, this->targets); }, logits);
  for (double& value : expected) value /= 2;
  for (const int shards : {1, 3}) {
    Loss loss;
    const std::vector<T> gradient = this->gradient_of(shards, loss);
    EXPECT_EQ(loss.rows, 8);
    EXPECT_NEAR(loss.sum, reference(logits, this->targets), 1e-4);
    EXPECT_LT(deviation(gradient, expected), tolerance<T>);
  }
}
TYPED_TEST(CrossEntropyKernel, PaddedColumnsAndIgnoredRowsHaveNoGradient) {
  using T = TypeParam;
  Loss loss;
  // A shard with padding alone stands behind the last of four.
  const std::vector<T> gradient = this->gradient_of(18, loss);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < padded; ++j)
      if (j >= vocabulary || this->targets[i] < 0) {
        EXPECT_EQ(to_float(gradient[i * padded + j]), 0);
      }
  EXPECT_TRUE(std::isfinite(loss.sum));
}
TYPED_TEST(CrossEntropyKernel, RowLossesAddUpToTheSum) {
  Statistics s;
  local_max_sum_target(this->shard(0, padded), this->logits.data(), this->targets.data(), s.maximum.data(),
                       s.sum.data(), s.target.data());
  std::vector<float> losses(rows, 9);
  const Loss loss =
      cross_entropy(rows, this->targets.data(), s.maximum.data(), s.sum.data(), s.target.data(), losses.data());
  double sum = 0;
  for (const float row : losses) sum += static_cast<double>(row);
  EXPECT_EQ(loss.sum, sum);
  EXPECT_EQ(losses[6], 0);
}

}  // namespace
}  // namespace tandem::cpu
