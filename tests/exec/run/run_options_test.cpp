// Options of `tandem run`: each has an effect or is refused by name.
#include "exec/run/run_options.h"

#include <gmock/gmock.h>

#include <sstream>

namespace tandem {
namespace {

using ::testing::HasSubstr;

RunOptions options(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> split;
  for (std::string word; words >> word;) split.push_back(word);
  return run_options(parse_arguments(*find_command("run"), split), "tiny");
}
std::string refusal(const std::string& text) {
  try {
    options(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(RunOptions, TheRecordIsNamedAfterTheScenario) {
  EXPECT_EQ(options("").record, "tiny-run.tandem");
  EXPECT_EQ(options("-o other.tandem").record, "other.tandem");
}
TEST(RunOptions, WarmUpLeavesAStepToMeasure) {
  EXPECT_EQ(options("--steps 2").warmup, 1);
  EXPECT_THAT(refusal("--steps 2 --warmup 2"), HasSubstr("--warmup 2 leaves none of 2 steps"));
}
TEST(RunOptions, ReadsTheOptimizer) {
  const RunOptions read = options("--lr 6e-5 --min-lr 6e-6 --lr-decay-iters 100 --lr-decay-style linear");
  EXPECT_DOUBLE_EQ(read.optimizer.learning_rate.lr, 6e-5);
  EXPECT_EQ(read.optimizer.learning_rate.lr_decay_style, DecayStyle::Linear);
  EXPECT_THAT(refusal("--lr -1"), HasSubstr("lr = -1"));
  EXPECT_THAT(refusal("--lr fast"), HasSubstr("a number is wanted"));
}
TEST(RunOptions, ReadsAPace) {
  EXPECT_DOUBLE_EQ(options("--pace 10GB/s,5us").pace->bandwidth.value, 1e10);
  EXPECT_THAT(refusal("--pace slow"), HasSubstr("a bandwidth and a delay are wanted"));
}
TEST(RunOptions, WhatNeedsCheckpointsIsRefusedWithoutThem) {
  EXPECT_THAT(refusal("--resume"), HasSubstr("--resume has no effect without --checkpoint"));
  EXPECT_THAT(refusal("--restarts 1"), HasSubstr("--restarts has no effect without --checkpoint"));
}
TEST(RunOptions, ThreadsAndProcessesExcludeEachOther) {
  EXPECT_THAT(refusal("--mpi --threads"), HasSubstr("contradict"));
}

}  // namespace
}  // namespace tandem
