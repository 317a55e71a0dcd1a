// Work of operators and of whole models against published formulas.
#include <gtest/gtest.h>

#include "core/model/find_model.h"
#include "core/model/model_flops.h"
#include "tests/core/model/model_texts.h"

namespace tandem {
namespace {

ModelGraph shipped(const std::string& id) {
  return build_model(read_model(find_model(id, TANDEM_SOURCE_DIR "/scenarios")));
}
Operator make(OperatorKind kind, std::vector<Parameter> parameters = {}) {
  Operator op;
  op.name = "x";
  op.kind = kind;
  op.parameters = std::move(parameters);
  return op;
}
const TokenShape four_by_ten{.batch = 4, .main = 10};

// Narayanan 2021, section 5.1, and Korthikanti 2022, appendix A: 72 B s l h^2 (1 + s/6h + V/12lh).
double megatron(double b, double s, double l, double h, double v) {
  return 72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
}
TEST(ModelFlops, AGptHasMegatronsFormula) {
  struct Row {
    const char* id;
    double l, h;
  };
  for (const auto& [id, l, h] : {Row{"gpt-22b", 48, 6144}, Row{"gpt-175b", 96, 12288},
                                 Row{"gpt-530b", 105, 20480}, Row{"gpt-1t", 128, 25600}}) {
    const Flops work = model_flops(shipped(id), {.batch = 4, .main = 2048});
    EXPECT_DOUBLE_EQ(work.value, megatron(4, 2048, l, h, 51200)) << id;
  }
}
TEST(ModelFlops, CausalScoresAreHalf) {
  const ModelGraph graph = shipped("gpt-175b");
  const TokenShape shape{.batch = 1, .main = 2048};
  const double saved =
      (model_flops(graph, shape) - model_flops(graph, shape, AttentionFlops::CausalHalf)).value;
  EXPECT_DOUBLE_EQ(saved, 6.0 * 96 * 2048 * 2048 * 12288);
}
// Six operations a parameter and token, but for the embedding table, which is looked up, and the norms; and
// 12 l s h a token for the scores (h: heads times head size).
TEST(ModelFlops, Llama405BHasSixPerParameterAndToken) {
  const ModelGraph graph = shipped("llama-3.1-405b");
  const double products = 405853388800.0 - 128256.0 * 16384 - (2 * 126 + 1) * 16384.0;
  const double expected = 8192 * (6 * products + 12.0 * 126 * 8192 * 16384);
  EXPECT_DOUBLE_EQ(model_flops(graph, {.batch = 1, .main = 8192}).value, expected);
}
TEST(ModelFlops, MixtralCountsTheExpertsATokenMeets) {
  const ModelGraph graph = shipped("mixtral-8x7b");
  const double products = 12879925248.0 - 32000.0 * 4096 - 65 * 4096.0;
  const double expected = 4096 * (6 * products + 12.0 * 32 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(model_flops(graph, {.batch = 1, .main = 4096}).value, expected);
}
TEST(ModelFlops, AWindowCountsItsBand) {
  const ModelGraph graph = shipped("mistral-7b");  // 4,096 tokens
  const TokenShape shape{.batch = 1, .main = 8192};
  const double all = model_flops(graph, shape).value;
  const double band = model_flops(graph, shape, AttentionFlops::CausalHalf).value;
  const double w = 4096, s = 8192;
  EXPECT_DOUBLE_EQ(all - band, 12.0 * 32 * 4096 * (s * s - (s * w - w * w / 2)));
}
TEST(ModelFlops, PixelsNeedNoGradient) {
  const ModelGraph graph = shipped("vit-base-patch16-224");
  const double s = 197, h = 768, patch = 2 * s * h * h;
  EXPECT_DOUBLE_EQ(model_flops(graph, {.batch = 1, .main = 197}).value,
                   72 * s * 12 * h * h + 12 * 12 * s * s * h + 2 * patch);
}
TEST(ModelFlops, CrossAttentionSeesTheEncoder) {
  const ModelGraph graph = shipped("t5-small");
  const TokenShape shape{.batch = 2, .main = 100, .encoder = 300};
  const double h = 512, d = 100, e = 300;
  const double encoder = e * 24 * h * h + 4 * e * e * h;  // forward: 4 h^2 + 8 h^2 weights, scores
  const double decoder = d * (24 * h * h + 4 * h * h) + e * 4 * h * h + 4 * (d * d + d * e) * h;
  const double logits = 2 * d * h * 32128;
  EXPECT_DOUBLE_EQ(model_flops(graph, shape).value, 3 * 2 * (6 * (encoder + decoder) + logits));
}

TEST(OperatorWork, AProductCostsTheSameInAllThreePhases) {
  const Operator op = make(Linear{8, 16}, {{"weight", 128, true}});
  for (const Phase phase : {Phase::Forward, Phase::InputGradient, Phase::WeightGradient, Phase::Recompute}) {
    EXPECT_EQ(flops(op, phase, four_by_ten), Flops(2 * 40 * 8 * 16));
    EXPECT_EQ(bytes(op, phase, four_by_ten, DType::Bf16), Bytes(2 * (40 * (8 + 16) + 128)));
  }
  EXPECT_EQ(flops(op, Phase::Update, four_by_ten), Flops(0));
  EXPECT_EQ(bytes(op, Phase::Forward, four_by_ten, DType::Fp32), Bytes(4 * (40 * (8 + 16) + 128)));
}
TEST(OperatorWork, ATiedHeadStillReadsItsTable) {
  Operator op = make(Linear{8, 16});
  op.tied = true;
  EXPECT_EQ(bytes(op, Phase::Forward, four_by_ten, DType::Bf16), Bytes(2 * (40 * (8 + 16) + 128)));
}
TEST(OperatorWork, AttentionBackwardIsTwiceItsForward) {
  const Operator op = make(Attention{.heads = 4, .kv_heads = 2, .qk_head_dim = 8, .v_head_dim = 6});
  EXPECT_EQ(flops(op, Phase::Forward, four_by_ten), Flops(2 * 4 * 50 * 4 * (8 + 6)));
  EXPECT_EQ(flops(op, Phase::InputGradient, four_by_ten), Flops(2 * 2 * 4 * 50 * 4 * (8 + 6)));
  EXPECT_EQ(flops(op, Phase::WeightGradient, four_by_ten), Flops(0));
  EXPECT_EQ(bytes(op, Phase::Forward, four_by_ten, DType::Bf16), Bytes(2 * 40 * (4 * 8 + 4 * 6 + 2 * (8 + 6))));
}
TEST(OperatorWork, AWindowAsLongAsTheSequenceChangesNothing) {
  Attention attention{.heads = 4, .kv_heads = 4, .qk_head_dim = 8, .v_head_dim = 8};
  const Flops whole = flops(make(attention), Phase::Forward, four_by_ten);
  attention.window = 10;
  EXPECT_EQ(flops(make(attention), Phase::Forward, four_by_ten), whole);
  attention.window = 1000;
  EXPECT_EQ(flops(make(attention), Phase::Forward, four_by_ten), whole);
}
TEST(OperatorWork, ExpertsSeeRoutedRows) {
  const Operator op =
      make(ExpertLinear{.experts = 8, .top_k = 2, .in = 16, .out = 32}, {{"weight", 8 * 16 * 32, true}});
  EXPECT_EQ(rows(op, four_by_ten), 80);
  EXPECT_EQ(flops(op, Phase::Forward, four_by_ten), Flops(2 * 80 * 16 * 32));
}
TEST(OperatorWork, DropoutMasksAreBytes) {
  const Operator op = make(Residual{.width = 16, .dropout = true});
  EXPECT_EQ(bytes(op, Phase::Forward, four_by_ten, DType::Bf16), Bytes(40 * 16 * (3 * 2 + 1)));
  EXPECT_EQ(bytes(op, Phase::Forward, four_by_ten, DType::Fp32), Bytes(40 * 16 * (3 * 4 + 1)));
}
TEST(OperatorWork, APoolerSeesOneRowASequence) {
  Operator op = make(Linear{8, 8});
  op.per_sequence = true;
  EXPECT_EQ(rows(op, four_by_ten), 4);
}
TEST(OperatorWork, PhasesHaveNames) { EXPECT_EQ(name(Phase::WeightGradient), "weight gradient"); }

}  // namespace
}  // namespace tandem
