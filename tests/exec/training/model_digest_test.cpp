// What makes another model, and what does not.
#include "exec/training/model_digest.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/exec/training/tiny_models.h"

namespace tandem {
namespace {

std::uint64_t llama_digest(const std::string& heads, const std::string& more = "", const char* name = "llama") {
  const std::string keys =
      R"({"model_type":"llama","num_hidden_layers":2,"hidden_size":32,"intermediate_size":48,)"
      R"("vocab_size":50,"num_attention_heads":)";
  return model_digest(testing::model_of(keys + heads + more + "}", name).graph);
}

TEST(ModelDigest, IsTheSameForTheSameModelUnderAnyName) {
  EXPECT_EQ(llama_digest("4"), llama_digest("4"));
  EXPECT_EQ(llama_digest("4"), llama_digest("4", "", "other"));
}

TEST(ModelDigest, DiffersByFamilyAndSize) {
  EXPECT_NE(model_digest(testing::tiny_gpt().graph), model_digest(testing::tiny_llama().graph));
  EXPECT_NE(llama_digest("4"), llama_digest("4", R"(,"num_key_value_heads":2)"));
}

// Parameters alone would not tell these apart.
TEST(ModelDigest, DiffersByHeadsAndActivationOfEqualParameters) {
  EXPECT_NE(llama_digest("4"), llama_digest("8"));
  EXPECT_NE(llama_digest("4"), llama_digest("4", R"(,"hidden_act":"gelu")"));
}

}  // namespace
}  // namespace tandem
