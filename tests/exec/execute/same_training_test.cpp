// Training under any plan is the training of one rank.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/exec/execute/training_run.h"

namespace tandem {
namespace {

using testing::TrainingRun;

constexpr std::int64_t steps = 20;

// One rank, one microbatch size, no cleverness: what all other plans must equal.
const TrainingRun& reference(const ModelSpec& spec) {
  static std::map<std::string, TrainingRun> runs;
  const auto [entry, fresh] = runs.try_emplace(spec.name);
  if (fresh) {
    const ModelGraph model = build_model(spec);
    entry->second = testing::train(spec, model, testing::tiny_plan(spec, model, testing::plan_of("")), steps);
  }
  return entry->second;
}

// "" or what went wrong.
std::string difference(const ModelSpec& spec, const std::string& plan_text) {
  const ModelGraph model = build_model(spec);
  const Plan plan = testing::tiny_plan(spec, model, testing::plan_of(plan_text));
  const std::vector<Problem> problems = check_executable(spec, model, plan);
  if (!problems.empty()) return text(problems.front());
  const TrainingRun run = testing::train(spec, model, plan, steps);
  const TrainingRun& one = reference(spec);
  for (std::size_t s = 0; s < one.losses.size(); ++s) {
    if (std::abs(run.losses[s] - one.losses[s]) > 1e-4 * one.losses[s])
      return fmt::format("step {}: loss {} instead of {}", s, run.losses[s], one.losses[s]);
  }
  if (std::abs(run.norms.front() - one.norms.front()) > 1e-5 * one.norms.front())
    return fmt::format("gradient norm {} instead of {}", run.norms.front(), one.norms.front());
  return "";
}

TEST(SameTraining, OneRankLearnsWithEveryFamily) {
  for (const ModelSpec& spec : {testing::tiny_gpt(), testing::tiny_llama(), testing::tiny_mixtral(),
                                testing::tiny_bert(), testing::tiny_t5()}) {
    const TrainingRun& run = reference(spec);
    EXPECT_LT(run.losses.back(), run.losses.front() - 0.2) << spec.name;
    EXPECT_NEAR(run.losses.front(), std::log(200.0), 0.3) << spec.name;
  }
}

#define EXPECT_SAME_TRAINING(model, plan) \
  EXPECT_EQ(difference(testing::model(), plan), "") << #model " " << plan

TEST(SameTraining, DataParallel) { EXPECT_SAME_TRAINING(tiny_gpt, "dp=2"); }
TEST(SameTraining, GradientAccumulation) { EXPECT_SAME_TRAINING(tiny_gpt, "mbs=2 gbs=8"); }
TEST(SameTraining, OverlappedGradientReduction) {
  EXPECT_SAME_TRAINING(tiny_llama, "dp=2 overlap bucket=20000");
}
TEST(SameTraining, TensorParallel) {
  EXPECT_SAME_TRAINING(tiny_gpt, "tp=2");
  EXPECT_SAME_TRAINING(tiny_llama, "tp=4");
}
TEST(SameTraining, SequenceParallel) {
  EXPECT_SAME_TRAINING(tiny_gpt, "tp=2 sp");
  EXPECT_SAME_TRAINING(tiny_llama, "tp=4 sp");
}
TEST(SameTraining, GPipe) { EXPECT_SAME_TRAINING(tiny_gpt, "pp=2 schedule=gpipe"); }
TEST(SameTraining, OneForwardOneBackward) { EXPECT_SAME_TRAINING(tiny_gpt, "pp=4"); }
TEST(SameTraining, Interleaved) { EXPECT_SAME_TRAINING(tiny_gpt, "pp=2 vpp=2 schedule=interleaved"); }
TEST(SameTraining, ZeroBubbleH1) { EXPECT_SAME_TRAINING(tiny_llama, "pp=2 schedule=zb-h1"); }
TEST(SameTraining, ZeroBubbleV) { EXPECT_SAME_TRAINING(tiny_gpt, "pp=2 schedule=zb-v"); }
TEST(SameTraining, DualPipe) { EXPECT_SAME_TRAINING(tiny_llama, "pp=2 schedule=dualpipe"); }
TEST(SameTraining, RingContextParallel) {
  EXPECT_SAME_TRAINING(tiny_llama, "cp=2");
  EXPECT_SAME_TRAINING(tiny_gpt, "cp=4");
  EXPECT_SAME_TRAINING(tiny_bert, "cp=2");
}
TEST(SameTraining, GatheredContextParallel) { EXPECT_SAME_TRAINING(tiny_llama, "cp=2 cp_comm=gather"); }
TEST(SameTraining, UlyssesContextParallel) { EXPECT_SAME_TRAINING(tiny_llama, "cp=2 cp_comm=ulysses mbs=2"); }
TEST(SameTraining, ExpertParallel) { EXPECT_SAME_TRAINING(tiny_mixtral, "dp=2 ep=2"); }
TEST(SameTraining, ExpertTensorParallel) { EXPECT_SAME_TRAINING(tiny_mixtral, "tp=2 sp etp=2 dp=2 ep=2"); }
TEST(SameTraining, Zero1) { EXPECT_SAME_TRAINING(tiny_gpt, "dp=2 zero=1"); }
TEST(SameTraining, Zero2) { EXPECT_SAME_TRAINING(tiny_gpt, "dp=2 zero=2"); }
TEST(SameTraining, Zero3) { EXPECT_SAME_TRAINING(tiny_gpt, "dp=2 zero=3"); }
TEST(SameTraining, HybridSharding) { EXPECT_SAME_TRAINING(tiny_llama, "dp=4 zero=3 sharding=2"); }
TEST(SameTraining, FullRecomputation) { EXPECT_SAME_TRAINING(tiny_gpt, "recompute=full"); }
TEST(SameTraining, SelectiveRecomputation) {
  EXPECT_SAME_TRAINING(tiny_llama, "recompute=selective");
  EXPECT_SAME_TRAINING(tiny_llama, "recompute=selective module=mlp module=layernorm tp=2 sp");
}
TEST(SameTraining, UnfusedAttention) { EXPECT_SAME_TRAINING(tiny_llama, "unfused"); }
TEST(SameTraining, EncoderAndDecoder) { EXPECT_SAME_TRAINING(tiny_t5, "tp=2 pp=2"); }
TEST(SameTraining, MaskedTokens) { EXPECT_SAME_TRAINING(tiny_bert, "dp=2 tp=2 sp"); }

}  // namespace
}  // namespace tandem
