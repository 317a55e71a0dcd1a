// Batches arrive in order, a step ahead, and failures reach who waits.
#include "exec/training/data_loader.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/problem/problem.h"
#include "tests/exec/training/numbered_source.h"

namespace tandem {
namespace {

BatchShape shape_of(std::int64_t microbatches) {
  return {.sequences = 2, .length = 8, .microbatches = microbatches, .vocabulary = 1 << 20};
}

TEST(DataLoader, GivesTheBatchesOfEachStepInOrder) {
  const testing::NumberedSource source;
  DataLoader loader(source, shape_of(3), Objective::NextToken, 5);
  for (std::int64_t step = 5; step < 9; ++step) {
    EXPECT_EQ(loader.step(), step);
    for (std::uint32_t m = 0; m < 3; ++m) {
      Batch expected;
      fill_batch(expected, shape_of(3), source, Objective::NextToken, step, m);
      EXPECT_EQ(loader.wait(m).tokens, expected.tokens);
      EXPECT_TRUE(loader.ready(m));
    }
    loader.end_step();
  }
}

// Counts sequences; the first call of a step given may fail.
class CountingSource : public testing::NumberedSource {
 public:
  explicit CountingSource(std::int64_t failing_step = -1) : failing_step_(failing_step) {}
  void sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                std::span<std::int32_t> encoder) const override {
    if (step == failing_step_) throw BackendError("the disk is gone");
    NumberedSource::sequence(step, sample, main, encoder);
    sequences.fetch_add(1);
    sequences.notify_all();
  }
  void wait_for(int count) const {
    for (int now = sequences.load(); now < count; now = sequences.load()) sequences.wait(now);
  }
  mutable std::atomic<int> sequences = 0;

 private:
  std::int64_t failing_step_;
};

TEST(DataLoader, PreparesTheNextStepAndNoFurther) {
  const CountingSource source;
  {
    DataLoader loader(source, shape_of(3), Objective::NextToken, 0);
    source.wait_for(2 * 3 * 2);  // without anyone asking
  }
  EXPECT_EQ(source.sequences, 2 * 3 * 2);
}

TEST(DataLoader, GivesWhatItHasBeforeItFails) {
  const CountingSource source(1);
  DataLoader loader(source, shape_of(1), Objective::NextToken, 0);
  EXPECT_EQ(loader.wait(0).tokens.size(), 16u);
  loader.end_step();
  EXPECT_THROW(loader.wait(0), BackendError);
  EXPECT_THROW(loader.wait(0), BackendError);
}

TEST(DataLoader, MayBeLeftAtAnyTime) {
  const testing::NumberedSource source;
  for (int i = 0; i < 50; ++i) DataLoader(source, shape_of(4), Objective::NextToken, 0);
}

}  // namespace
}  // namespace tandem
