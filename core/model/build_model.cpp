// Lowers a specification into its operators: embedding, encoder blocks, blocks, head.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/model/build_block.h"
#include "core/model/graph_builder.h"
#include "core/model/model_spec.h"

namespace tandem {
namespace {

Operator table(std::string name, std::int64_t rows, std::int64_t width, bool split) {
  Operator op;
  op.name = std::move(name);
  op.kind = Embedding{rows, width};
  op.split = split ? Split::Vocabulary : Split::None;
  op.parameters = {{"weight", rows * width, split}};
  return op;
}

struct Embedded {
  TensorId main, encoder;
};

std::int64_t patches(const ModelSpec& spec) {
  const std::int64_t side = spec.patch_size > 0 ? spec.image_size / spec.patch_size : 0;
  return side * side;
}

// Patches of pixels are projected, then a class token joins them and positions are added.
TensorId add_patch_embedding(GraphBuilder& graph, const ModelSpec& spec) {
  const std::int64_t pixels = spec.num_channels * spec.patch_size * spec.patch_size;
  const TensorId x = graph.add(linear_operator("embedding.patch", pixels, spec.hidden_size, Split::None, true),
                               {}, {spec.hidden_size});
  Operator position = table("embedding.position", patches(spec) + 1, spec.hidden_size, false);
  position.parameters.push_back({"class_token", spec.hidden_size, false});
  return graph.add(std::move(position), {x}, {spec.hidden_size});
}

// Each table adds its rows to what the one before wrote; the dropout mask belongs to the last tensor.
Embedded add_embedding(GraphBuilder& graph, const ModelSpec& spec) {
  graph.begin_layer("embedding", Layer::Role::Embedding);
  const std::int64_t width = spec.hidden_size, mask = spec.hidden_dropout ? width : 0;
  Embedded result;
  if (spec.image_size > 0) {
    result.main = add_patch_embedding(graph, spec);
    graph.end_layer();
    return result;
  }
  std::vector<Operator> steps = {table("embedding.word", spec.vocab_size, width, true)};
  if (spec.position == PositionKind::Learned) {
    steps.push_back(table("embedding.position", spec.position_rows, width, false));
  }
  if (spec.token_types > 0) steps.push_back(table("embedding.type", spec.token_types, width, false));
  if (spec.embedding_norm) steps.push_back(norm_operator("embedding.norm", spec.norm, width));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<TensorId> inputs = i == 0 ? std::vector<TensorId>{} : std::vector<TensorId>{result.main};
    result.main =
        graph.add(std::move(steps[i]), inputs, {width, Layout::Sequence, i + 1 == steps.size() ? mask : 0});
  }
  if (spec.encoder_layers > 0) {
    Operator encoder = table("embedding.encoder_word", spec.vocab_size, width, true);
    encoder.parameters.clear();
    encoder.tied = true;
    encoder.sequence = Sequence::Encoder;
    result.encoder = graph.add(std::move(encoder), {}, {width, Layout::Sequence, mask});
  }
  graph.end_layer();
  return result;
}

// The encoder's final norm lies in its last block, so that only "head" closes the model.
TensorId add_encoder(GraphBuilder& graph, const ModelSpec& spec, TensorId x) {
  for (std::int64_t i = 0; i < spec.encoder_layers; ++i) {
    graph.begin_layer(fmt::format("E{}", i), Layer::Role::Block);
    x = add_block(graph, spec, {i, Sequence::Encoder, true}, x, nullptr);
    if (i + 1 == spec.encoder_layers) {
      x = graph.add(norm_operator("encoder.norm", spec.norm, spec.hidden_size, Sequence::Encoder), {x},
                    {spec.hidden_size, Layout::Sequence, spec.hidden_dropout ? spec.hidden_size : 0});
    }
    graph.end_layer();
  }
  return x;
}

// BERT's pooler: the first token through a dense layer and tanh. It joins the loss beside the logits.
TensorId add_pooler(GraphBuilder& graph, const ModelSpec& spec, TensorId x) {
  Operator dense = linear_operator("head.pooler", spec.hidden_size, spec.hidden_size, Split::None, true);
  dense.per_sequence = true;
  const TensorId pooled = graph.add(std::move(dense), {x}, {spec.hidden_size});
  Operator activation;
  activation.name = "head.pooler_activation";
  activation.kind = Activation{ActivationKind::Tanh, spec.hidden_size, false};
  activation.per_sequence = true;
  return graph.add(std::move(activation), {pooled}, {spec.hidden_size});
}

void add_head(GraphBuilder& graph, const ModelSpec& spec, TensorId x) {
  graph.begin_layer("head", Layer::Role::Head);
  if (!spec.norm_after_add) {
    const bool dropout = spec.hidden_dropout && spec.encoder_layers > 0;  // t5 drops after both final norms
    x = graph.add(norm_operator("head.norm", spec.norm, spec.hidden_size), {x},
                  {spec.hidden_size, Layout::Sequence, dropout ? spec.hidden_size : 0});
  }
  std::vector<TensorId> judged;
  if (spec.has_vocabulary_head) {
    Operator logits =
        linear_operator("head.logits", spec.hidden_size, spec.vocab_size, Split::Vocabulary, false);
    logits.tied = spec.tie_word_embeddings;
    if (logits.tied) logits.parameters.clear();
    judged.push_back(graph.add(std::move(logits), {x}, {spec.vocab_size, Layout::Width}));
    if (spec.logit_softcap) {
      Operator cap;
      cap.name = "head.softcap";
      cap.kind = Scale{spec.vocab_size};
      cap.split = Split::Vocabulary;
      judged[0] = graph.add(std::move(cap), {judged[0]}, {spec.vocab_size, Layout::Width});
    }
  }
  if (spec.pooler) judged.push_back(add_pooler(graph, spec, x));
  if (spec.has_vocabulary_head) {
    Operator loss;
    loss.name = "head.loss";
    loss.kind = CrossEntropy{spec.vocab_size};
    loss.split = Split::Vocabulary;
    graph.add(std::move(loss), judged, {1});
  }
  graph.end_layer();
}

}  // namespace

ModelGraph build_model(const ModelSpec& spec) {
  const std::vector<Problem> problems =
      check_spec(spec, [&](std::string_view) { return Where{.file = spec.source}; });
  if (!problems.empty()) throw InputError(problems);
  GraphBuilder graph(spec.name);
  const Embedded embedded = add_embedding(graph, spec);
  std::optional<TensorId> encoded;
  if (spec.encoder_layers > 0) encoded = add_encoder(graph, spec, embedded.encoder);
  TensorId x = embedded.main;
  for (std::int64_t i = 0; i < spec.num_hidden_layers; ++i) {
    graph.begin_layer(fmt::format("L{}", i), Layer::Role::Block);
    x = add_block(graph, spec, {i, Sequence::Main, false}, x, encoded ? &*encoded : nullptr);
    graph.end_layer();
  }
  add_head(graph, spec, x);
  ModelGraph model = std::move(graph).finish();
  check(static_cast<double>(model.total_parameters()) == parameter_formula(spec),
        fmt::format("{} has {} parameters by its operators and {} by formula", spec.name,
                    model.total_parameters(), parameter_formula(spec)));
  return model;
}

std::int64_t fixed_sequence_length(const ModelSpec& spec) {
  return spec.image_size > 0 ? patches(spec) + 1 : 0;
}

}  // namespace tandem
