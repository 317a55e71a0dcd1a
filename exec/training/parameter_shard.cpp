// Cuts parameters as Megatron-Core cuts them: by heads, by halves of gated products, by experts, by vocabulary.
#include "exec/training/parameter_shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/problem/problem.h"

namespace tandem {
namespace {

std::string whole_name(const ModelGraph& model, const Operator& op, const Parameter& parameter) {
  const std::string& layer = model[op.layer].name;
  return op.name.starts_with(layer + ".") ? fmt::format("{}.{}", op.name, parameter.name)
                                          : fmt::format("{}.{}.{}", layer, op.name, parameter.name);
}

ParameterShape whole_shape(const Operator& op, const Parameter& parameter) {
  if (const auto* attention = std::get_if<Attention>(&op.kind))
    return {1, parameter.count / attention->heads, attention->heads};
  if (parameter.name == "weight") {
    if (const auto* table = std::get_if<Embedding>(&op.kind)) return {1, table->rows, table->width};
    if (const auto* product = std::get_if<Linear>(&op.kind)) return {1, product->out, product->in};
    if (const auto* router = std::get_if<Router>(&op.kind)) return {1, router->experts, router->width};
    if (const auto* product = std::get_if<ExpertLinear>(&op.kind))
      return {product->experts, product->out, product->in};
  }
  return {1, parameter.count, 1};
}

bool is_vector(const Operator& op, const Parameter& parameter) {
  return parameter.name != "weight" ? !std::holds_alternative<Attention>(op.kind)
                                    : std::holds_alternative<Normalization>(op.kind);
}

bool feeds_gate(const ModelGraph& model, OperatorId id) {
  for (const OperatorId reader : model.consumers(model.output(id))) {
    const auto* dense = std::get_if<Activation>(&model[reader].kind);
    const auto* expert = std::get_if<ExpertActivation>(&model[reader].kind);
    if ((dense && dense->gated) || (expert && expert->gated)) return true;
  }
  return false;
}

const Attention* attention_of(const ModelGraph& model, LayerId layer, bool cross) {
  for (std::uint32_t o = model[layer].first.value; o <= model[layer].last.value; ++o) {
    const auto* attention = std::get_if<Attention>(&model[OperatorId(o)].kind);
    if (attention && attention->cross == cross) return attention;
  }
  return nullptr;
}

// Widths of what a product's output holds side by side; each is cut on its own.
std::vector<std::int64_t> sections(const ModelGraph& model, OperatorId id, std::int64_t rows) {
  const Operator& op = model[id];
  if (op.name == "attention.qkv" || op.name == "cross.kv") {
    const bool cross = op.name == "cross.kv";
    const Attention* attention = attention_of(model, op.layer, cross);
    check(attention != nullptr, op.name + " without an attention");
    const std::int64_t k = attention->kv_heads * attention->qk_head_dim;
    const std::int64_t v = attention->kv_heads * attention->v_head_dim;
    if (cross) return {k, v};
    return {attention->heads * attention->qk_head_dim, k, v};
  }
  if (feeds_gate(model, id)) return {rows / 2, rows / 2};
  return {rows};
}

IndexRange cut(std::int64_t begin, std::int64_t size, std::int64_t place, std::int64_t parts) {
  check(size % parts == 0, fmt::format("{} elements in {} parts", size, parts));
  return {begin + size / parts * place, begin + size / parts * (place + 1)};
}

std::vector<IndexRange> cut_sections(const std::vector<std::int64_t>& widths, std::int64_t place,
                                     std::int64_t parts) {
  std::vector<IndexRange> pieces;
  std::int64_t begin = 0;
  for (const std::int64_t width : widths) {
    const IndexRange piece = cut(begin, width, place, parts);
    if (!pieces.empty() && pieces.back().end == piece.begin) {
      pieces.back().end = piece.end;
    } else {
      pieces.push_back(piece);
    }
    begin += width;
  }
  return pieces;
}

void split(ParameterShard& shard, const ModelGraph& model, const Plan& plan, OperatorId owner, RankId rank) {
  const Operator& op = model[owner];
  const MeshShape& mesh = plan.mesh.shape();
  const auto place = [&](Axis axis) { return static_cast<std::int64_t>(plan.mesh.place(rank, axis).place); };
  const std::int64_t tensor = place(Axis::Tensor), expert_tensor = place(Axis::ExpertTensor);
  switch (op.split) {
    case Split::None:
      check(false, shard.name + " is split on an operator that is not");
      return;
    case Split::Column:
      shard.rows = cut_sections(sections(model, owner, shard.whole.rows), tensor, mesh.tp);
      return;
    case Split::Row:
    case Split::Heads:
      shard.columns = cut(0, shard.whole.columns, tensor, mesh.tp);
      return;
    case Split::Vocabulary:
      shard.rows = {cut(0, plan.padded_vocabulary, tensor, mesh.tp)};
      return;
    case Split::Expert:
      shard.expert = true;
      shard.experts = cut(0, shard.whole.experts, place(Axis::Expert), mesh.ep);
      if (op.name.ends_with("down")) {
        shard.columns = cut(0, shard.whole.columns, expert_tensor, mesh.etp);
      } else {
        shard.rows = cut_sections(sections(model, owner, shard.whole.rows), expert_tensor, mesh.etp);
      }
      return;
  }
}

ParameterShard shard_of(const ModelGraph& model, const Plan& plan, OperatorId owner, std::size_t index,
                        RankId rank) {
  const Operator& op = model[owner];
  const Parameter& parameter = op.parameters[index];
  ParameterShard shard;
  shard.op = owner;
  shard.parameter = index;
  shard.name = whole_name(model, op, parameter);
  shard.whole = whole_shape(op, parameter);
  check(shard.whole.count() == parameter.count, shard.name + " has another shape than its count says");
  shard.experts = {0, shard.whole.experts};
  shard.rows = {{0, shard.whole.rows}};
  shard.columns = {0, shard.whole.columns};
  shard.vector = is_vector(op, parameter);
  shard.replicated = !parameter.split;
  if (parameter.split) split(shard, model, plan, owner, rank);
  return shard;
}

bool stage_holds_layer(const Plan& plan, LayerId layer, RankId rank) {
  const std::vector<ChunkPlace>& own = plan.schedule.chunks[plan.mesh.stage(rank)];
  return std::any_of(own.begin(), own.end(), [&](const ChunkPlace& place) {
    const ChunkLayers& layers = plan.chunks[place.position];
    return layers.first <= layer && layer <= layers.last;
  });
}

}  // namespace

ParameterShape ParameterShard::local() const {
  std::int64_t height = 0;
  for (const IndexRange& piece : rows) height += piece.size();
  return {experts.size(), height, columns.size()};
}

std::optional<OperatorId> tied_owner(const ModelGraph& model, OperatorId id) {
  if (!model[id].tied) return std::nullopt;
  for (std::uint32_t o = 0; o < model.size(); ++o) {
    const Operator& op = model[OperatorId(o)];
    if (!op.tied && op.split == Split::Vocabulary && std::holds_alternative<Embedding>(op.kind))
      return OperatorId(o);
  }
  check(false, model[id].name + " is tied to a table that is not there");
  return std::nullopt;
}

bool stage_holds(const ModelGraph& model, const Plan& plan, OperatorId id, RankId rank) {
  return stage_holds_layer(plan, model[id].layer, rank);
}

std::vector<ParameterShard> parameter_shards(const ModelGraph& model, const Plan& plan, OperatorId id,
                                             RankId rank) {
  std::vector<ParameterShard> shards;
  if (!stage_holds(model, plan, id, rank)) return shards;
  const std::optional<OperatorId> tied_to = tied_owner(model, id);
  if (tied_to && stage_holds(model, plan, *tied_to, rank)) return shards;
  const OperatorId owner = tied_to.value_or(id);
  for (std::size_t p = 0; p < model[owner].parameters.size(); ++p) {
    shards.push_back(shard_of(model, plan, owner, p, rank));
    shards.back().op = id;
    shards.back().tied_copy = tied_to.has_value();
  }
  return shards;
}

std::vector<ParameterShard> parameter_shards(const ModelGraph& model, const Plan& plan, RankId rank) {
  std::vector<ParameterShard> all;
  for (std::uint32_t o = 0; o < model.size(); ++o)
    for (ParameterShard& shard : parameter_shards(model, plan, OperatorId(o), rank))
      all.push_back(std::move(shard));
  return all;
}

std::vector<Problem> check_parameter_shards(const ModelGraph& model, const Plan& plan) {
  const std::int64_t tp = plan.mesh.shape().tp;
  for (std::uint32_t o = 0; o < model.size(); ++o) {
    const auto* attention = std::get_if<Attention>(&model[OperatorId(o)].kind);
    if (!attention || attention->kv_heads >= tp) continue;
    return {{plan.spec.where_of("tensor_model_parallel_size"),
             fmt::format("tensor_model_parallel_size = {} is more than the {} key-value heads of {}, whose "
                         "copies are predicted but not executed",
                         tp, attention->kv_heads, model.name()),
             fmt::format("use at most {}", attention->kv_heads)}};
  }
  return {};
}

bool is_first_copy(const Plan& plan, RankId rank, const ParameterShard& shard) {
  if (shard.tied_copy) return false;
  if (shard.replicated && plan.mesh.place(rank, Axis::Tensor).place != 0) return false;
  return plan.schedule.kind != ScheduleKind::DualPipe || plan.mesh.place(rank, Axis::Mirror).place == 0;
}

}  // namespace tandem
