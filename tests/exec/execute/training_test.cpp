// What training does beside being the same under all plans: it learns, repeats itself, and runs in bf16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "exec/training/make_token_source.h"
#include "tests/exec/execute/same_training.h"

namespace tandem {
namespace {

TEST(Training, RepeatsItselfBitForBit) {
  const ModelSpec spec = testing::tiny_mixtral();
  const ModelGraph model = build_model(spec);
  const Plan plan =
      testing::tiny_plan(spec, model, testing::plan_of("dp=2 ep=2 tp=2 sp zero=1 overlap bucket=9000"));
  const testing::TrainingRun first = testing::train(spec, model, plan, 5);
  const testing::TrainingRun second = testing::train(spec, model, plan, 5);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.norms, second.norms);
}

TEST(Training, DoesNotDependOnThreads) {
  const ModelSpec spec = testing::tiny_gpt();
  const ModelGraph model = build_model(spec);
  const Plan plan = testing::tiny_plan(spec, model, testing::plan_of("mbs=4"));
  ExecuteOptions two;
  two.threads_per_rank = 2;
  EXPECT_EQ(testing::train(spec, model, plan, 5).losses, testing::train(spec, model, plan, 5, two).losses);
}

TEST(Training, InBf16FollowsFp32) {
  for (const ModelSpec& spec : {testing::tiny_gpt(), testing::tiny_mixtral()}) {
    const ModelGraph model = build_model(spec);
    for (const std::string text : {"bf16", "bf16 dp=2 zero=2", "bf16 tp=2 sp pp=2 recompute=full"}) {
      const Plan plan = testing::tiny_plan(spec, model, testing::plan_of(text));
      const testing::TrainingRun run =
          testing::train(spec, model, plan, std::min<std::int64_t>(10, testing::steps));
      const testing::TrainingRun& full = testing::reference(spec);
      for (std::size_t s = 0; s < run.losses.size(); ++s)
        EXPECT_NEAR(run.losses[s], full.losses[s], 0.02 * full.losses[s]) << spec.name << " " << text;
    }
  }
}

TEST(Training, WithMomentumIsTheSameUnderZero) {
  const ModelSpec spec = testing::tiny_llama();
  const ModelGraph model = build_model(spec);
  const auto losses = [&](const std::string& text) {
    return testing::train(spec, model, testing::tiny_plan(spec, model, testing::plan_of(text)), 5).losses;
  };
  const std::vector<double> one = losses("sgd"), sharded = losses("sgd dp=2 zero=3");
  for (std::size_t s = 0; s < one.size(); ++s) EXPECT_NEAR(sharded[s], one[s], 1e-5 * one[s]);
}

// A model of four layers under data, tensor and pipeline parallelism comes near the least loss there is.
TEST(Training, ReachesTheFloor) {
  if (testing::instrumented) GTEST_SKIP() << "too many steps for instrumented code";
  const ModelSpec spec = testing::tiny_llama();
  const ModelGraph model = build_model(spec);
  PlanSpec plan_spec = testing::plan_of("dp=2 tp=2 pp=2 mbs=2 gbs=8");
  plan_spec.seq_length = 64;
  const Plan plan = testing::tiny_plan(spec, model, plan_spec);
  const TaskGraph graph = lower(model, plan);
  const std::unique_ptr<TokenSource> source = make_token_source(model, plan, {.seed = 5});
  OptimizerOptions optimizer;
  optimizer.learning_rate.lr = 3e-3;
  const RunSetup setup{spec, model, plan, graph, *source, optimizer, 17};
  double last = 0;
  std::int64_t counted = 0;
  const std::int64_t steps = 450;
  ExecuteOptions options;
  options.steps = steps;
  options.on_step = [&](const StepResult& result) {
    if (result.step < steps - 20) return;
    last += result.loss;
    ++counted;
  };
  execute_threads(setup, options);
  const BatchShape shape = batch_shape(model, plan, RankId(0));
  const double floor = entropy_floor(shape, *source, objective(model)).value();
  EXPECT_LT(last / static_cast<double>(counted), 1.05 * floor);
  EXPECT_GT(last / static_cast<double>(counted), 0.9 * floor);
}

}  // namespace
}  // namespace tandem
