// What a layer keeps from forward to backward: Korthikanti et al. 2022 (arXiv 2205.05198), section 4.
#include <gtest/gtest.h>

#include "core/model/find_model.h"
#include "tests/core/model/model_texts.h"

namespace tandem {
namespace {

struct Kept {
  std::int64_t whole = 0, width = 0;  // bytes a token at two bytes an element: Layout::Sequence, Layout::Width
};
Kept kept_by(const ModelGraph& graph, const Layer& layer) {
  Kept kept;
  for (std::size_t i = layer.first.value; i <= layer.last.value; ++i) {
    const Tensor& tensor = graph[graph.output(OperatorId(i))];
    (tensor.layout == Layout::Width ? kept.width : kept.whole) +=
        (tensor.saved ? 2 * tensor.width : 0) + tensor.mask_bytes;
  }
  return kept;
}
ModelGraph shipped(const std::string& id) {
  return build_model(read_model(find_model(id, TANDEM_SOURCE_DIR "/scenarios")));
}
// The names of what a layer keeps, in order.
std::string kept_names(const ModelGraph& graph, const Layer& layer) {
  std::string names;
  for (std::size_t i = layer.first.value; i <= layer.last.value; ++i) {
    if (!graph[graph.output(OperatorId(i))].saved) continue;
    names += (names.empty() ? "" : " ") + graph[OperatorId(i)].name;
  }
  return names;
}

TEST(SavedTensors, AGptLayerKeeps34BytesPerHiddenElement) {
  const ModelGraph graph = shipped("gpt-175b");
  constexpr std::int64_t h = 12288;
  for (const Layer& layer : graph.layers()) {
    if (layer.role != Layer::Role::Block) continue;
    const Kept kept = kept_by(graph, layer);
    EXPECT_EQ(kept.whole, 10 * h) << layer.name;  // inputs and outputs of two norms, two dropout masks
    EXPECT_EQ(kept.width, 24 * h) << layer.name;  // q k v, attention, both sides of the activation
  }
}
TEST(SavedTensors, TheEmbeddingKeepsItsOutputAndMask) {
  const ModelGraph graph = shipped("gpt-175b");
  EXPECT_EQ(kept_by(graph, graph.layers().front()).whole, 3 * 12288);
}
TEST(SavedTensors, ALlamaLayerKeepsEachTensorOnce) {
  const ModelGraph graph = build_model(parse(tiny_llama()));
  EXPECT_EQ(
      kept_names(graph, graph.layers()[1]),
      "attention.norm attention.rotary attention.core attention.add mlp.norm mlp.up mlp.activation mlp.add");
}
TEST(SavedTensors, NormsOfHeadsKeepTheirInput) {
  const ModelGraph graph = shipped("qwen3-8b");
  EXPECT_EQ(kept_names(graph, graph.layers()[1]),
            "attention.norm attention.qkv attention.rotary attention.core attention.add mlp.norm mlp.up "
            "mlp.activation mlp.add");
}
TEST(SavedTensors, LatentAttentionKeepsItsNarrowTensors) {
  const ModelGraph graph = shipped("deepseek-v3");
  EXPECT_EQ(kept_names(graph, graph.layers()[1]),
            "attention.norm attention.q_a attention.q_norm attention.kv_a attention.kv_norm attention.rotary "
            "attention.core attention.add mlp.norm mlp.up mlp.activation mlp.add");
}
TEST(SavedTensors, ExpertsKeepTheirRoutedRows) {
  const ModelGraph graph = shipped("mixtral-8x7b");
  const Layer& layer = graph.layers()[1];
  EXPECT_EQ(
      kept_names(graph, layer),
      "attention.norm attention.rotary attention.core attention.add moe.norm moe.router moe.dispatch moe.up "
      "moe.activation moe.down moe.add");
  std::int64_t routed = 0;
  for (std::size_t i = layer.first.value; i <= layer.last.value; ++i) {
    const Tensor& tensor = graph[graph.output(OperatorId(i))];
    if (tensor.layout == Layout::Expert && tensor.saved) routed += tensor.width;
  }
  EXPECT_EQ(routed, 4096 + 2 * 14336 + 14336 + 4096);
}
TEST(SavedTensors, TheLossKeepsTheLogits) {
  const ModelGraph graph = shipped("llama-3-8b");
  EXPECT_EQ(kept_names(graph, graph.layers().back()), "head.norm head.logits");
}

}  // namespace
}  // namespace tandem
