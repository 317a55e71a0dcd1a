// Warm-up, decay and what is refused.
#include "exec/training/learning_rate.h"

#include <gtest/gtest.h>

#include "tests/exec/training/tiny_models.h"

namespace tandem {
namespace {

TEST(LearningRate, IsConstantWithoutDecay) {
  const LearningRate rate{.lr = 3e-4};
  EXPECT_EQ(rate.at(0), 3e-4);
  EXPECT_EQ(rate.at(1'000'000), 3e-4);
}

TEST(LearningRate, WarmsUpInAStraightLine) {
  const LearningRate rate{.lr = 1, .lr_warmup_iters = 4};
  EXPECT_EQ(rate.at(0), 0.25);
  EXPECT_EQ(rate.at(1), 0.5);
  EXPECT_EQ(rate.at(3), 1);
  EXPECT_EQ(rate.at(4), 1);
}

TEST(LearningRate, FallsAlongACosineToItsLeast) {
  const LearningRate rate{.lr = 1, .min_lr = 0.1, .lr_warmup_iters = 10, .lr_decay_iters = 110};
  EXPECT_DOUBLE_EQ(rate.at(59), 0.55);  // half-way
  EXPECT_DOUBLE_EQ(rate.at(109), 0.1);
  EXPECT_EQ(rate.at(5000), 0.1);
  for (std::int64_t step = 10; step < 110; ++step) EXPECT_LT(rate.at(step), rate.at(step - 1)) << step;
}

TEST(LearningRate, FallsInAStraightLineWhenAsked) {
  const LearningRate rate{.lr = 1, .lr_decay_iters = 4, .lr_decay_style = DecayStyle::Linear};
  EXPECT_DOUBLE_EQ(rate.at(0), 0.75);
  EXPECT_DOUBLE_EQ(rate.at(2), 0.25);
}

TEST(OptimizerOptions, AreMegatronsByDefault) { EXPECT_TRUE(check_optimizer({}).empty()); }

TEST(OptimizerOptions, OutOfRangeAreReportedAllAtOnce) {
  const OptimizerOptions options{.learning_rate = {.lr = -1, .lr_warmup_iters = 5, .lr_decay_iters = 5},
                                 .adam_beta1 = 1};
  const std::vector<Problem> problems = check_optimizer(options);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0].what, "lr = -1");
  EXPECT_EQ(problems[1].what, "min_lr = 0");
  EXPECT_EQ(problems[2].what, "lr_decay_iters = 5");
  EXPECT_EQ(problems[3].what, "adam_beta1 = 1");
}

TEST(WeightDecay, SparesNormsAndBiases) {
  const testing::Model model = testing::tiny_gpt();
  const Plan plan = testing::plan_of(model, {});
  const auto decayed = [&](const std::string& name) {
    return decays(testing::shard_named(model, plan, RankId(0), name));
  };
  EXPECT_TRUE(decayed("L0.mlp.up.weight"));
  EXPECT_TRUE(decayed("embedding.position.weight"));
  EXPECT_FALSE(decayed("L0.mlp.up.bias"));
  EXPECT_FALSE(decayed("L0.mlp.norm.weight"));
}

}  // namespace
}  // namespace tandem
