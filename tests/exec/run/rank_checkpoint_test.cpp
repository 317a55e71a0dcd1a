// Training that goes on from a checkpoint is the training that was never interrupted.
#include "exec/run/rank_checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "exec/run/continued_source.h"
#include "exec/run/run_threads.h"
#include "exec/training/model_digest.h"
#include "tests/exec/execute/training_run.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::TemporaryFolder;

class Losses : public RunObserver {
 public:
  Losses(std::string dir, CheckpointMeta meta, std::uint32_t ranks, std::int64_t checkpoint_at)
      : dir_(std::move(dir)), meta_(std::move(meta)), ranks_(ranks), checkpoint_at_(checkpoint_at) {}

  AfterStep step_done(const std::vector<RankReport>& ranks) override {
    double loss = 0;
    for (const RankReport& rank : ranks) loss += rank.loss;
    values.push_back(loss);
    return {.checkpoint = ranks[0].step + 1 == checkpoint_at_};
  }
  void checkpoint_written(std::int64_t steps) override {
    meta_.step = steps;
    publish_checkpoint(dir_, meta_, ranks_);
  }
  std::vector<double> values;

 private:
  std::string dir_;
  CheckpointMeta meta_;
  std::uint32_t ranks_;
  std::int64_t checkpoint_at_;
};

// Losses of the steps [first, end) under a plan; from the checkpoint in `dir` when first > 0, with one written
// there after step `checkpoint_at`.
std::vector<double> train(const ModelSpec& spec, const std::string& plan_text, const std::string& dir,
                          std::int64_t first, std::int64_t end, std::int64_t checkpoint_at = -1) {
  const ModelGraph model = build_model(spec);
  const Plan plan = testing::tiny_plan(spec, model, testing::plan_of(plan_text));
  const TaskGraph graph = lower(model, plan);
  const MarkovSource whole({.seed = 5, .vocabulary = 200, .symbols = 32});
  const ContinuedSource source(whole, first);
  OptimizerOptions optimizer;
  optimizer.learning_rate.lr = 3e-3;
  const RunSetup setup{spec, model, plan, graph, source, optimizer, 17};
  Losses losses(dir, {.model = "tiny", .model_digest = model_digest(model), .data = "", .plan = plan_text},
                static_cast<std::uint32_t>(plan.mesh.ranks()), checkpoint_at);
  run_threads(setup, losses, [&](RankId) {
    RankOptions options{.first_step = first, .steps = end - first};
    options.save = [&](RankState& state) {
      CheckpointWriter writer(dir, state.step + 1, state.rank().value);
      save(state, writer);
      writer.finish_rank();
    };
    if (first > 0)
      options.load = [&](RankState& state) {
        CheckpointReader reader(latest_checkpoint(dir).value());
        load(state, reader);
      };
    return options;
  });
  return losses.values;
}

// Four steps in one go under `first`, and two of them again from a checkpoint under `second`.
void expect_goes_on(const ModelSpec& spec, const std::string& first, const std::string& second,
                    double tolerance) {
  const TemporaryFolder folder;
  const std::vector<double> whole = train(spec, first, folder.file(""), 0, 4, 2);
  const std::vector<double> rest = train(spec, second, folder.file(""), 2, 4);
  ASSERT_EQ(rest.size(), 2u);
  for (std::size_t i = 0; i < rest.size(); ++i)
    EXPECT_LE(std::abs(rest[i] - whole[i + 2]), tolerance * whole[i + 2])
        << first << " -> " << second << " step " << i + 2;
}

constexpr double same_bits = 0, resharded = 1e-5;

TEST(RankCheckpoint, OneRankGoesOnBitForBit) { expect_goes_on(testing::tiny_llama(2), "", "", same_bits); }
TEST(RankCheckpoint, HalfPrecisionGoesOnBitForBit) {
  expect_goes_on(testing::tiny_gpt(2), "bf16 dp=2", "bf16 dp=2", same_bits);
}
TEST(RankCheckpoint, SplitRanksGoOnBitForBit) {
  expect_goes_on(testing::tiny_gpt(2), "tp=2 sp dp=2 zero=2", "tp=2 sp dp=2 zero=2", same_bits);
}
TEST(RankCheckpoint, FullyShardedRanksGoOnBitForBit) {
  expect_goes_on(testing::tiny_llama(2), "dp=2 zero=3", "dp=2 zero=3", same_bits);
}
TEST(RankCheckpoint, ExpertsGoOnBitForBit) {
  expect_goes_on(testing::tiny_mixtral(2), "dp=2 ep=2", "dp=2 ep=2", same_bits);
}
TEST(RankCheckpoint, MomentumGoesOnBitForBit) { expect_goes_on(testing::tiny_gpt(2), "sgd", "sgd", same_bits); }
TEST(RankCheckpoint, TensorParallelBecomesDataParallel) {
  expect_goes_on(testing::tiny_gpt(2), "tp=2", "dp=2", resharded);
}
TEST(RankCheckpoint, StagesBecomeOneRank) { expect_goes_on(testing::tiny_gpt(2), "pp=2", "", resharded); }
TEST(RankCheckpoint, OneRankBecomesStages) { expect_goes_on(testing::tiny_llama(2), "", "pp=2", resharded); }
TEST(RankCheckpoint, ZeroBecomesNone) {
  expect_goes_on(testing::tiny_llama(2), "dp=2 zero=1", "dp=2", resharded);
}
TEST(RankCheckpoint, SharedExpertsBecomeWholeOnes) {
  expect_goes_on(testing::tiny_mixtral(2), "dp=2 ep=2", "", resharded);
}

TEST(RankCheckpoint, AnotherOptimizersMomentsAreRefused) {
  const TemporaryFolder folder;
  const ModelSpec spec = testing::tiny_gpt(1);
  train(spec, "sgd", folder.file(""), 0, 1, 1);
  EXPECT_THROW(train(spec, "", folder.file(""), 1, 2), InputError);
}

}  // namespace
}  // namespace tandem
