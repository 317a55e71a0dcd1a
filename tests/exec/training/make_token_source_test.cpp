// Each model gets a source that its batches can read.
#include "exec/training/make_token_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/problem/problem.h"
#include "exec/training/batch.h"
#include "tests/exec/training/tiny_models.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::plan_of;

TEST(TokenSourceOfAModel, FillsBatchesOfEveryFamilyAndKnowsTheirFloor) {
  for (const testing::Model& model : testing::tiny_models()) {
    const Plan plan = plan_of(model, {});
    const auto source = make_token_source(model.graph, plan, {.seed = 3});
    const BatchShape shape = batch_shape(model.graph, plan, RankId(0));
    Batch batch;
    fill_batch(batch, shape, *source, objective(model.graph), 0, 0);
    EXPECT_EQ(batch.tokens.size(), static_cast<std::size_t>(shape.sequences * shape.length));
    EXPECT_TRUE(entropy_floor(shape, *source, objective(model.graph)).has_value()) << model.graph.name();
  }
}

TEST(TokenSourceOfAModel, NeverMakesTheTokenThatHidesOthers) {
  const testing::Model model = testing::tiny_bert();
  std::vector<std::int32_t> tokens(5000);
  make_token_source(model.graph, plan_of(model, {}), {.seed = 3})->sequence(0, 0, tokens, {});
  EXPECT_THAT(tokens, ::testing::Each(::testing::Lt(49)));
}

TEST(TokenSourceOfAModel, HasTheOrderAskedFor) {
  const testing::Model model = testing::tiny_gpt();
  EXPECT_THAT(make_token_source(model.graph, plan_of(model, {}), {.order = 2})->text(),
              ::testing::HasSubstr("order 2 over 16 of 50 tokens"));
  EXPECT_THROW(make_token_source(model.graph, plan_of(model, {}), {.order = 3}), InputError);
}

// Sixteen tokens and the last target.
TEST(TokenSourceOfAModel, WantsAFileOfOneSequenceAndATarget) {
  const testing::Model model = testing::model_of(
      R"({"model_type":"gpt2","n_layer":2,"n_embd":32,"n_head":4,"n_positions":64,"vocab_size":256})", "bytes");
  const testing::TemporaryFolder folder;
  std::ofstream(folder.file("data")) << std::string(17, 'x');
  EXPECT_THAT(make_token_source(model.graph, plan_of(model, {}), {.file = folder.file("data")})->text(),
              ::testing::HasSubstr("(17 bytes)"));
  std::filesystem::resize_file(folder.file("data"), 16);
  EXPECT_THROW(make_token_source(model.graph, plan_of(model, {}), {.file = folder.file("data")}), InputError);
}

}  // namespace
}  // namespace tandem
