// Training under any plan is the training of one rank.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/exec/execute/same_training.h"

namespace tandem {
namespace {

TEST(SameTraining, OneRankLearnsWithEveryFamily) {
  for (const ModelSpec& spec : {testing::tiny_gpt(), testing::tiny_llama(), testing::tiny_mixtral(),
                                testing::tiny_bert(), testing::tiny_t5()}) {
    const testing::TrainingRun& run = testing::reference(spec);
    EXPECT_LT(run.losses.back(), run.losses.front() - (testing::instrumented ? 0 : 0.2)) << spec.name;
    EXPECT_NEAR(run.losses.front(), std::log(200.0), 0.3) << spec.name;
  }
}

#define EXPECT_SAME_TRAINING(model, plan) \
  EXPECT_EQ(testing::difference(testing::model(), plan), "") << #model " " << plan

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
TEST(SameTraining, RelativePositionBiases) {
  const ModelSpec spec = testing::tiny_t5(2, 16);
  for (const std::string plan : {"tp=2 sp dp=2 zero=1", "cp=2", "cp=2 cp_comm=gather tp=2",
                                 "unfused recompute=full", "dp=2 zero=3 early_gradients"})
    EXPECT_EQ(testing::difference(spec, plan), "") << plan;
}
TEST(SameTraining, MaskedTokens) { EXPECT_SAME_TRAINING(tiny_bert, "dp=2 tp=2 sp"); }

}  // namespace
}  // namespace tandem
