// Saved tensors follow Korthikanti et al. 2022 (arXiv 2205.05198, section 4): what a gradient needs, and no
// more.
#include "core/model/graph_builder.h"

#include <fmt/format.h>

#include <utility>

#include "core/problem/problem.h"

namespace tandem {
namespace {

// Which of an operator's own tensors its gradients need.
struct Keeps {
  bool inputs = false, output = false;
};
struct KeepsOf {
  Keeps operator()(const Embedding&) const { return {}; }
  Keeps operator()(const Linear&) const { return {.inputs = true}; }
  Keeps operator()(const Normalization&) const { return {.inputs = true}; }
  Keeps operator()(const Rotary&) const { return {}; }
  Keeps operator()(const Attention&) const { return {.inputs = true, .output = true}; }
  Keeps operator()(const Activation&) const { return {.inputs = true}; }
  Keeps operator()(const Residual&) const { return {}; }
  Keeps operator()(const Router&) const { return {.inputs = true}; }
  Keeps operator()(const Dispatch&) const { return {}; }
  Keeps operator()(const ExpertLinear&) const { return {.inputs = true}; }
  Keeps operator()(const ExpertActivation&) const { return {.inputs = true}; }
  Keeps operator()(const Combine&) const { return {.inputs = true}; }
  Keeps operator()(const Scale&) const { return {.inputs = true}; }
  Keeps operator()(const CrossEntropy&) const { return {.inputs = true}; }
};

bool equal_but_for_layer(const Operator& a, const Operator& b) {
  return a.name == b.name && a.kind == b.kind && a.split == b.split && a.sequence == b.sequence &&
         a.parameters == b.parameters && a.tied == b.tied && a.per_sequence == b.per_sequence;
}

}  // namespace

void GraphBuilder::begin_layer(std::string name, Layer::Role role) {
  Layer layer;
  layer.name = std::move(name);
  layer.role = role;
  layer.first = OperatorId(num_vertices(dag_));
  layers_.push_back(std::move(layer));
}

void GraphBuilder::end_layer() {
  check(num_vertices(dag_) > layers_.back().first.value, "a layer has an operator");
  layers_.back().last = OperatorId(num_vertices(dag_) - 1);
}

TensorId GraphBuilder::add(Operator op, const std::vector<TensorId>& inputs, Output output) {
  Tensor tensor;
  tensor.name = fmt::format("{}.{}.out", layers_.back().name, op.name);
  tensor.width = output.width;
  tensor.sequence = op.sequence;
  tensor.layout = output.layout;
  tensor.mask_bytes = output.mask_bytes;
  op.layer = LayerId(layers_.size() - 1);
  const auto vertex = add_vertex(std::move(op), dag_);
  tensor.producer = OperatorId(vertex);
  for (const TensorId input : inputs) add_edge(tensors_[input.value].producer.value, vertex, input, dag_);
  tensors_.push_back(std::move(tensor));
  return TensorId(tensors_.size() - 1);
}

void GraphBuilder::mark_saved() {
  for (std::size_t i = 0; i < num_vertices(dag_); ++i) {
    const Keeps keeps = std::visit(KeepsOf{}, dag_[i].kind);
    if (keeps.output) tensors_[i].saved = true;
    if (!keeps.inputs) continue;
    const auto [first, last] = in_edges(i, dag_);
    for (auto edge = first; edge != last; ++edge) tensors_[dag_[*edge].value].saved = true;
  }
}

bool GraphBuilder::equal_layers(const Layer& a, const Layer& b) const {
  const std::size_t size = a.last.value - a.first.value;
  if (a.role != b.role || size != b.last.value - b.first.value) return false;
  for (std::size_t i = 0; i <= size; ++i) {
    const std::size_t u = a.first.value + i, v = b.first.value + i;
    const Tensor &x = tensors_[u], &y = tensors_[v];
    if (!equal_but_for_layer(dag_[u], dag_[v]) || x.width != y.width || x.layout != y.layout ||
        x.saved != y.saved || x.mask_bytes != y.mask_bytes || in_degree(u, dag_) != in_degree(v, dag_)) {
      return false;
    }
    auto edge_b = in_edges(v, dag_).first;
    const auto [first, last] = in_edges(u, dag_);
    for (auto edge_a = first; edge_a != last; ++edge_a, ++edge_b) {
      const std::size_t from_a = source(*edge_a, dag_), from_b = source(*edge_b, dag_);
      const bool inside_a = from_a >= a.first.value, inside_b = from_b >= b.first.value;
      if (inside_a != inside_b || (inside_a && from_a - a.first.value != from_b - b.first.value)) return false;
    }
  }
  return true;
}

void GraphBuilder::number_kinds() {
  std::vector<const Layer*> representatives;
  for (Layer& layer : layers_) {
    std::size_t kind = 0;
    while (kind < representatives.size() && !equal_layers(*representatives[kind], layer)) ++kind;
    if (kind == representatives.size()) representatives.push_back(&layer);
    layer.kind = static_cast<std::uint32_t>(kind);
  }
}

ModelGraph GraphBuilder::finish() && {
  mark_saved();
  number_kinds();
  ModelGraph graph(std::move(dag_), std::move(tensors_), std::move(layers_), std::move(name_));
  check_model(graph);
  return graph;
}

}  // namespace tandem
