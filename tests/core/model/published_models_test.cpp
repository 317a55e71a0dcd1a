// Parameter counts of published models, total and active, met to the last parameter.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/model/find_model.h"
#include "core/model/model_spec.h"

namespace tandem {
namespace {

const std::string scenarios = TANDEM_SOURCE_DIR "/scenarios";

struct Published {
  const char* id;
  std::int64_t total, active;
};
// Computed from the published dimensions; those with a model card agree with it (BERT and ViT without task
// heads, DeepSeek-V3 without its multi-token prediction layer).
const Published published[] = {
    {"llama-2-7b", 6738415616, 6738415616},
    {"llama-2-13b", 13015864320, 13015864320},
    {"llama-2-70b", 68976648192, 68976648192},
    {"llama-3-8b", 8030261248, 8030261248},
    {"llama-3-70b", 70553706496, 70553706496},
    {"llama-3.1-405b", 405853388800, 405853388800},
    {"mistral-7b", 7241732096, 7241732096},
    {"mixtral-8x7b", 46702792704, 12879925248},
    {"mixtral-8x22b", 140630071296, 39161468928},
    {"qwen2.5-7b", 7615616512, 7615616512},
    {"qwen3-8b", 8190735360, 8190735360},
    {"qwen3-32b", 32762123264, 32762123264},
    {"qwen3-30b-a3b", 30532122624, 3353032704},
    {"qwen3-235b-a22b", 235093634560, 22190763520},
    {"deepseek-v2-lite", 15706484224, 2661150208},
    {"deepseek-v2", 235741434880, 21375800320},
    {"deepseek-v3", 671026419200, 37552297472},
    {"gemma-2-2b", 2614341888, 2614341888},
    {"gemma-2-9b", 9241705984, 9241705984},
    {"gemma-2-27b", 27227128320, 27227128320},
    {"gemma-3-27b-text", 27009002240, 27009002240},
    {"gpt2", 124439808, 124439808},
    {"gpt2-xl", 1557611200, 1557611200},
    {"opt-125m", 125239296, 125239296},
    {"opt-6.7b", 6658473984, 6658473984},
    {"bloom-560m", 559214592, 559214592},
    {"bloom-176b", 176247271424, 176247271424},
    {"gpt-neox-20b", 20554567680, 20554567680},
    {"bert-base-uncased", 109482240, 109482240},
    {"vit-base-patch16-224", 85798656, 85798656},
    {"t5-small", 60506624, 60506624},
    {"t5-v1.1-xxl", 11135332352, 11135332352},
    {"llama-3.1-8b", 8030261248, 8030261248},
    {"bert-large", 335141888, 335141888},
    {"t5-11b", 11307321344, 11307321344},
    {"vit-l", 303301632, 303301632},
    {"vit-h", 630764800, 630764800},
};

ModelGraph build(const std::string& id) { return build_model(read_model(find_model(id, scenarios))); }

class PublishedModel : public testing::TestWithParam<Published> {};
TEST_P(PublishedModel, HasItsExactParameterCounts) {
  const ModelGraph graph = build(GetParam().id);
  EXPECT_EQ(graph.total_parameters(), GetParam().total);
  EXPECT_EQ(graph.active_parameters(), GetParam().active);
}
TEST_P(PublishedModel, LeavesNoKeyUnread) {
  const ModelSpec spec = read_model(find_model(GetParam().id, scenarios));
  const std::vector<std::string> soft_cap = {"attn_logit_softcapping"};
  EXPECT_EQ(spec.unknown_keys, spec.model_type == "gemma2" ? soft_cap : std::vector<std::string>{});
}
std::string test_name(const testing::TestParamInfo<Published>& info) {
  std::string name = info.param.id;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Table, PublishedModel, testing::ValuesIn(published), test_name);

// The family of the Megatron papers: 12 l h^2 (1 + 13/12h + (V+s)/12lh) of Narayanan 2021, and the final norm.
struct Megatron {
  const char* id;
  std::int64_t layers, hidden;
  double billions;
};
class MegatronModel : public testing::TestWithParam<Megatron> {};
TEST_P(MegatronModel, HasThePapersParameterCount) {
  const auto [id, l, h, billions] = GetParam();
  const std::int64_t formula = 12 * l * h * h + 13 * l * h + (51200 + 2048) * h + 2 * h;
  EXPECT_EQ(build(id).total_parameters(), formula);
  EXPECT_NEAR(static_cast<double>(formula) / 1e9, billions, 0.051);
}
// Billions as in table 1 of Narayanan 2021 (SC'21); those of Korthikanti 2022 by the same formula.
INSTANTIATE_TEST_SUITE_P(
    Table, MegatronModel,
    testing::Values(Megatron{"gpt-1.7b", 24, 2304, 1.7}, Megatron{"gpt-3.6b", 30, 3072, 3.6},
                    Megatron{"gpt-7.5b", 36, 4096, 7.5}, Megatron{"gpt-18.4b", 40, 6144, 18.4},
                    Megatron{"gpt-39.1b", 48, 8192, 39.1}, Megatron{"gpt-76.1b", 60, 10240, 76.1},
                    Megatron{"gpt-145.6b", 80, 12288, 145.6}, Megatron{"gpt-310.1b", 96, 16384, 310.1},
                    Megatron{"gpt-529.6b", 105, 20480, 529.6}, Megatron{"gpt-1008b", 128, 25600, 1008.0},
                    Megatron{"gpt-22b", 48, 6144, 22.1}, Megatron{"gpt-175b", 96, 12288, 174.6},
                    Megatron{"gpt-530b", 105, 20480, 529.6}, Megatron{"gpt-1t", 128, 25600, 1008.0}));

TEST(PublishedModels, AgreeWithTheSharedTable) {
  const std::string path = TANDEM_SOURCE_DIR "/../shared/data/models.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  int models = 0;
  while (std::getline(in, line)) {
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    ASSERT_GE(cells.size(), 22u) << line;
    const ModelGraph graph = build(cells[0]);
    EXPECT_EQ(graph.total_parameters(), std::stoll(cells[20])) << cells[0];
    EXPECT_EQ(graph.active_parameters(), std::stoll(cells[21])) << cells[0];
    ++models;
  }
  EXPECT_EQ(models, 32);
}
// Qwen1.5-MoE-A2.7B: 60 experts beside a gated shared one; its model card says 14.3 billion, 2.7 of them
// active.
TEST(PublishedModels, GatedSharedExpertsAreCounted) {
  const ModelGraph graph = build_model(parse_model(R"({"model_type": "qwen2_moe", "hidden_size": 2048,
    "intermediate_size": 5632, "moe_intermediate_size": 1408, "num_attention_heads": 16, "num_experts": 60,
    "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 16,
    "shared_expert_intermediate_size": 5632, "vocab_size": 151936})",
                                                   "config.json", "qwen1.5-moe"));
  EXPECT_EQ(graph.total_parameters(), 14315784192);
  EXPECT_EQ(graph.active_parameters(), 2689173504);
}
TEST(PublishedModels, AllShippedModelsBuild) {
  const std::vector<std::string> ids = list_models(scenarios);
  EXPECT_GE(ids.size(), 51u);
  for (const std::string& id : ids) EXPECT_NO_THROW(build(id)) << id;
}

}  // namespace
}  // namespace tandem
