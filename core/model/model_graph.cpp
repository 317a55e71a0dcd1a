// The model graph's queries and the check of its invariants.
#include "core/model/model_graph.h"

#include <fmt/format.h>

#include <utility>

#include "core/model/dag.h"
#include "core/problem/problem.h"

namespace tandem {

ModelGraph::ModelGraph(Dag dag, std::vector<Tensor> tensors, std::vector<Layer> layers, std::string model_name)
    : dag_(std::make_shared<const Dag>(std::move(dag))),
      tensors_(std::move(tensors)),
      layers_(std::move(layers)),
      outputs_(num_vertices(*dag_)),
      name_(std::move(model_name)) {
  check(tensors_.size() == num_vertices(*dag_), "every operator writes exactly one tensor");
  for (std::size_t i = 0; i < tensors_.size(); ++i) outputs_.at(tensors_[i].producer.value) = TensorId(i);
}

const Operator& ModelGraph::operator[](OperatorId id) const { return (*dag_)[id.value]; }

std::vector<TensorId> ModelGraph::inputs(OperatorId id) const {
  std::vector<TensorId> result;
  const auto [first, last] = in_edges(id.value, *dag_);
  for (auto edge = first; edge != last; ++edge) result.push_back((*dag_)[*edge]);
  return result;
}

TensorId ModelGraph::output(OperatorId id) const { return outputs_[id.value]; }

std::vector<OperatorId> ModelGraph::consumers(TensorId id) const {
  std::vector<OperatorId> result;
  const auto [first, last] = out_edges(tensors_[id.value].producer.value, *dag_);
  for (auto edge = first; edge != last; ++edge) result.emplace_back(target(*edge, *dag_));
  return result;
}

std::int64_t ModelGraph::total_parameters() const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < size(); ++i) total += parameter_count((*dag_)[i]);
  return total;
}

std::int64_t ModelGraph::active_parameters() const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::int64_t count = parameter_count((*dag_)[i]);
    const auto* experts = std::get_if<ExpertLinear>(&(*dag_)[i].kind);
    total += experts ? count / experts->experts * experts->top_k : count;
  }
  return total;
}

bool ModelGraph::has_experts() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (std::holds_alternative<ExpertLinear>((*dag_)[i].kind)) return true;
  }
  return false;
}

bool ModelGraph::has_encoder() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if ((*dag_)[i].sequence == Sequence::Encoder) return true;
  }
  return false;
}

bool ModelGraph::tied_embeddings() const {
  for (std::size_t i = 0; i < size(); ++i) {
    if ((*dag_)[i].tied && std::holds_alternative<Linear>((*dag_)[i].kind)) return true;
  }
  return false;
}

namespace {

// Whether the widths of an operator's tensors are those its kind needs.
struct WidthsAgree {
  const std::vector<std::int64_t>& in;
  std::int64_t out;

  bool first(std::int64_t width) const { return !in.empty() && in[0] == width; }
  bool operator()(const Embedding& k) const { return out == k.width && (in.empty() || first(k.width)); }
  bool operator()(const Linear& k) const { return out == k.out && (in.empty() || first(k.in)); }
  // The norm of a part (q of a fused qkv) reads a wider tensor than it writes.
  bool operator()(const Normalization& k) const { return out == k.width && !in.empty() && in[0] >= k.width; }
  bool operator()(const Rotary& k) const { return !in.empty() && out >= k.width; }
  bool operator()(const Attention& k) const {
    std::int64_t read = 0;
    for (const std::int64_t width : in) read += width;
    return read == k.heads * k.qk_head_dim + k.kv_heads * (k.qk_head_dim + k.v_head_dim) &&
           out == k.heads * k.v_head_dim;
  }
  bool operator()(const Activation& k) const {
    return first(k.gated ? 2 * k.width : k.width) && out == k.width;
  }
  bool operator()(const ExpertActivation& k) const {
    return first(k.gated ? 2 * k.width : k.width) && out == k.width;
  }
  bool operator()(const Residual& k) const {
    for (const std::int64_t width : in) {
      if (width != k.width) return false;
    }
    return in.size() >= 2 && out == k.width;
  }
  bool operator()(const Router& k) const { return first(k.width) && out == k.experts; }
  bool operator()(const Dispatch& k) const { return first(k.width) && out == k.width; }
  bool operator()(const ExpertLinear& k) const { return first(k.in) && out == k.out; }
  bool operator()(const Combine& k) const { return first(k.width) && out == k.width; }
  bool operator()(const Scale& k) const { return first(k.width) && out == k.width; }
  bool operator()(const CrossEntropy& k) const { return first(k.vocabulary); }
};

}  // namespace

void check_model(const ModelGraph& graph) {
  std::size_t next = 0;
  for (std::size_t l = 0; l < graph.layers().size(); ++l) {
    const Layer& layer = graph.layers()[l];
    check(layer.first.value == next && layer.last >= layer.first,
          fmt::format("operators of layer {} follow those of the layer before", layer.name));
    next = layer.last.value + 1;
    for (std::size_t i = layer.first.value; i < next && i < graph.size(); ++i) {
      check(graph[OperatorId(i)].layer == LayerId(l), fmt::format("layer {} holds its operators", layer.name));
    }
  }
  check(next == graph.size(), "layers cover all operators");
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OperatorId id(i);
    const Operator& op = graph[id];
    check(graph[graph.output(id)].producer == id, fmt::format("{} writes one tensor", op.name));
    std::vector<std::int64_t> widths;
    for (const TensorId input : graph.inputs(id)) {
      check(graph[input].producer < id, fmt::format("{} comes after what it reads", op.name));
      widths.push_back(graph[input].width);
    }
    const std::int64_t out = graph[graph.output(id)].width;
    check(out > 0 && std::visit(WidthsAgree{widths, out}, op.kind), fmt::format("widths of {} agree", op.name));
  }
}

}  // namespace tandem
