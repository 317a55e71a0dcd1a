// Graphs that lowering relies on: names, splits, kinds of layers, sequences.
#include <gtest/gtest.h>

#include <set>

#include "core/model/find_model.h"
#include "tests/core/model/model_texts.h"

namespace tandem {
namespace {

ModelGraph shipped(const std::string& id) {
  return build_model(read_model(find_model(id, TANDEM_SOURCE_DIR "/scenarios")));
}
std::string operators(const ModelGraph& graph, std::string_view layer_name) {
  std::string names;
  for (const Layer& layer : graph.layers()) {
    if (layer.name != layer_name) continue;
    for (std::size_t i = layer.first.value; i <= layer.last.value; ++i) {
      names += (names.empty() ? "" : " ") + graph[OperatorId(i)].name;
    }
  }
  return names;
}
const Operator& find(const ModelGraph& graph, std::string_view layer_name, std::string_view name) {
  for (const Layer& layer : graph.layers()) {
    if (layer.name != layer_name) continue;
    for (std::size_t i = layer.first.value; i <= layer.last.value; ++i) {
      if (graph[OperatorId(i)].name == name) return graph[OperatorId(i)];
    }
  }
  throw std::out_of_range(std::string(name));
}
std::set<std::uint32_t> block_kinds(const ModelGraph& graph) {
  std::set<std::uint32_t> kinds;
  for (const Layer& layer : graph.layers()) {
    if (layer.role == Layer::Role::Block) kinds.insert(layer.kind);
  }
  return kinds;
}

TEST(BuildModel, ALlamaHasTheseOperators) {
  const ModelGraph graph = build_model(parse(tiny_llama()));
  EXPECT_EQ(operators(graph, "embedding"), "embedding.word");
  EXPECT_EQ(operators(graph, "L1"),
            "attention.norm attention.qkv attention.rotary attention.core attention.out attention.add mlp.norm "
            "mlp.up "
            "mlp.activation mlp.down mlp.add");
  EXPECT_EQ(operators(graph, "head"), "head.norm head.logits head.loss");
  EXPECT_EQ(graph.layers().size(), 4u);
}
TEST(BuildModel, ExpertBlocksHaveTheseOperators) {
  EXPECT_EQ(operators(shipped("deepseek-v3"), "L3"),
            "attention.norm attention.q_a attention.q_norm attention.q_b attention.kv_a attention.kv_norm "
            "attention.kv_b attention.rotary attention.core attention.out attention.add moe.norm moe.router "
            "moe.dispatch moe.up moe.activation moe.down moe.combine moe.shared_up moe.shared_activation "
            "moe.shared_down moe.add");
}
TEST(BuildModel, BertNormsAfterItsSums) {
  const ModelGraph graph = shipped("bert-base-uncased");
  EXPECT_EQ(operators(graph, "embedding"), "embedding.word embedding.position embedding.type embedding.norm");
  EXPECT_EQ(
      operators(graph, "L0"),
      "attention.qkv attention.core attention.out attention.add attention.norm mlp.up mlp.activation mlp.down "
      "mlp.add mlp.norm");
  EXPECT_EQ(operators(graph, "head"), "head.logits head.pooler head.pooler_activation head.loss");
  EXPECT_TRUE(find(graph, "head", "head.pooler").per_sequence);
}
TEST(BuildModel, GemmaNormsBeforeAndAfter) {
  EXPECT_EQ(operators(shipped("gemma-2-2b"), "L0"),
            "attention.norm attention.qkv attention.rotary attention.core attention.out attention.post_norm "
            "attention.add mlp.norm mlp.up mlp.activation mlp.down mlp.post_norm mlp.add");
}
TEST(BuildModel, AParallelBlockAddsOnce) {
  const ModelGraph graph = shipped("gpt-neox-20b");
  EXPECT_EQ(operators(graph, "L0"),
            "attention.norm attention.qkv attention.rotary attention.core attention.out mlp.norm mlp.up "
            "mlp.activation mlp.down mlp.add");
  const Layer& layer = graph.layers()[1];
  EXPECT_EQ(graph.inputs(layer.last).size(), 3u);
}
TEST(BuildModel, ADecoderBlockReadsTheEncoder) {
  const ModelGraph graph = shipped("t5-small");
  EXPECT_EQ(
      operators(graph, "L1"),
      "attention.norm attention.qkv attention.core attention.out attention.add cross.norm cross.q cross.kv "
      "cross.core cross.out cross.add mlp.norm mlp.up mlp.activation mlp.down mlp.add");
  EXPECT_EQ(find(graph, "L1", "cross.kv").sequence, Sequence::Encoder);
  EXPECT_EQ(find(graph, "L1", "cross.q").sequence, Sequence::Main);
  EXPECT_EQ(find(graph, "E1", "attention.qkv").sequence, Sequence::Encoder);
  EXPECT_TRUE(graph.has_encoder());
  EXPECT_EQ(std::get<Attention>(find(graph, "E0", "attention.core").kind).mask, AttentionMask::Full);
  EXPECT_EQ(std::get<Attention>(find(graph, "L0", "attention.core").kind).mask, AttentionMask::Causal);
}
TEST(BuildModel, AnImageModelHasNoLoss) {
  EXPECT_EQ(operators(shipped("vit-h"), "head"), "head.norm");
  EXPECT_EQ(operators(shipped("vit-h"), "embedding"), "embedding.patch embedding.position");
}

TEST(BuildModel, ColumnBiasesAreSplitAndRowBiasesAreNot) {
  const ModelGraph graph = shipped("gpt2");
  const Operator& qkv = find(graph, "L0", "attention.qkv");
  const Operator& out = find(graph, "L0", "attention.out");
  EXPECT_EQ(qkv.split, Split::Column);
  EXPECT_EQ(qkv.parameters, (std::vector<Parameter>{{"weight", 768 * 2304, true}, {"bias", 2304, true}}));
  EXPECT_EQ(out.split, Split::Row);
  EXPECT_EQ(out.parameters, (std::vector<Parameter>{{"weight", 768 * 768, true}, {"bias", 768, false}}));
}
TEST(BuildModel, WordTablesAreSplitAndPositionTablesAreNot) {
  const ModelGraph graph = shipped("gpt2");
  EXPECT_TRUE(find(graph, "embedding", "embedding.word").parameters[0].split);
  EXPECT_FALSE(find(graph, "embedding", "embedding.position").parameters[0].split);
}
TEST(BuildModel, ATiedHeadOwnsNothing) {
  const ModelGraph tied = shipped("gpt2"), untied = shipped("llama-3-8b");
  EXPECT_TRUE(find(tied, "head", "head.logits").tied);
  EXPECT_TRUE(find(tied, "head", "head.logits").parameters.empty());
  EXPECT_TRUE(tied.tied_embeddings());
  EXPECT_FALSE(untied.tied_embeddings());
  EXPECT_FALSE(shipped("t5-v1.1-xxl").tied_embeddings());
}

TEST(BuildModel, EqualBlocksAreOneKind) {
  EXPECT_EQ(block_kinds(shipped("llama-3.1-405b")).size(), 1u);
  EXPECT_EQ(block_kinds(shipped("gpt-175b")).size(), 1u);
}
TEST(BuildModel, BlocksThatDifferAreOtherKinds) {
  EXPECT_EQ(block_kinds(shipped("deepseek-v3")).size(), 2u);       // dense, experts
  EXPECT_EQ(block_kinds(shipped("gemma-3-27b-text")).size(), 2u);  // window, full
  EXPECT_EQ(block_kinds(shipped("t5-small")).size(), 5u);  // position biases first; the encoder's norm last
}
TEST(BuildModel, InputsComeInArgumentOrder) {
  const ModelGraph graph = shipped("mixtral-8x7b");
  const Layer& layer = graph.layers()[1];
  for (std::size_t i = layer.first.value; i <= layer.last.value; ++i) {
    if (graph[OperatorId(i)].name != "moe.combine") continue;
    const std::vector<TensorId> inputs = graph.inputs(OperatorId(i));
    ASSERT_EQ(inputs.size(), 2u);
    EXPECT_EQ(graph[inputs[0]].name, "L0.moe.down.out");
    EXPECT_EQ(graph[inputs[1]].name, "L0.moe.router.out");
  }
}
TEST(BuildModel, AHandMadeSpecificationIsCheckedToo) {
  ModelSpec spec = parse(tiny_llama());
  spec.num_key_value_heads = 3;
  EXPECT_THROW(build_model(spec), InputError);
  spec = parse(tiny_llama());
  spec.num_hidden_layers = 1 << 30;
  EXPECT_THROW(build_model(spec), InputError);
}

}  // namespace
}  // namespace tandem
