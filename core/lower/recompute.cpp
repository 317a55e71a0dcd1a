// Checkpointing as Megatron-Core does it: whole blocks (uniform units or the first blocks), or chosen modules.
#include "core/lower/recompute.h"

#include <algorithm>
#include <string_view>

namespace tandem {

bool backward_reads_inputs(const Operator& op) {
  struct Reads {
    bool operator()(const Embedding&) const { return false; }
    bool operator()(const Linear&) const { return true; }
    bool operator()(const Normalization&) const { return true; }
    bool operator()(const Rotary&) const { return false; }
    bool operator()(const Attention&) const { return true; }
    bool operator()(const Activation&) const { return true; }
    bool operator()(const Residual&) const { return false; }
    bool operator()(const Router&) const { return true; }
    bool operator()(const Dispatch&) const { return false; }
    bool operator()(const ExpertLinear&) const { return true; }
    bool operator()(const ExpertActivation&) const { return true; }
    bool operator()(const Combine&) const { return true; }
    bool operator()(const Scale&) const { return true; }
    bool operator()(const CrossEntropy&) const { return true; }
  };
  return std::visit(Reads{}, op.kind);
}

bool backward_reads_output(const Operator& op) { return std::holds_alternative<Attention>(op.kind); }

bool weight_gradient_reads_input(const Operator& op) {
  return std::holds_alternative<Linear>(op.kind) || std::holds_alternative<ExpertLinear>(op.kind) ||
         std::holds_alternative<Router>(op.kind);
}

namespace {

bool in_module(const Operator& op, RecomputeModule module) {
  const std::string_view name = op.name;
  switch (module) {
    case RecomputeModule::CoreAttention:
      return std::holds_alternative<Attention>(op.kind);
    case RecomputeModule::Mlp:
      return name == "mlp.up" || name == "mlp.activation" || name == "mlp.down";
    case RecomputeModule::Moe:
      return name.starts_with("moe.") && name != "moe.norm" && name != "moe.add";
    case RecomputeModule::LayerNorm:
      return name == "attention.norm" || name == "mlp.norm" || name == "moe.norm";
    case RecomputeModule::MoeActivation:
      return name == "moe.activation";
    case RecomputeModule::MlaUpProjection:
      return name == "attention.q_b" || name == "attention.kv_b" || name == "attention.rotary";
  }
  return false;
}

std::vector<RecomputeGroup> full(const ModelGraph& model, const PlanSpec& spec, ChunkLayers chunk) {
  std::vector<LayerId> blocks;
  for (std::uint32_t l = chunk.first.value; l <= chunk.last.value; ++l) {
    if (model[LayerId(l)].role == Layer::Role::Block) blocks.push_back(LayerId(l));
  }
  const bool uniform = spec.recompute_method == RecomputeMethod::Uniform;
  const std::size_t given = static_cast<std::size_t>(spec.recompute_num_layers);
  const std::size_t unit = uniform ? std::max<std::size_t>(1, given) : 1;
  const std::size_t covered = uniform || given == 0 ? blocks.size() : std::min(blocks.size(), given);
  std::vector<RecomputeGroup> groups;
  for (std::size_t first = 0; first < covered; first += unit) {
    RecomputeGroup group;
    const std::size_t end = std::min(first + unit, covered);
    for (std::uint32_t o = model[blocks[first]].first.value; o <= model[blocks[end - 1]].last.value; ++o) {
      group.operators.push_back(OperatorId(o));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// One group a layer and module: contiguous operators of the module in one layer.
std::vector<RecomputeGroup> selective(const ModelGraph& model, const PlanSpec& spec, ChunkLayers chunk) {
  std::vector<RecomputeModule> modules = spec.recompute_modules;
  if (modules.empty()) modules = {RecomputeModule::CoreAttention};
  std::vector<RecomputeGroup> groups;
  for (std::uint32_t l = chunk.first.value; l <= chunk.last.value; ++l) {
    const Layer& layer = model[LayerId(l)];
    if (layer.role != Layer::Role::Block) continue;
    for (const RecomputeModule module : modules) {
      const bool single = module == RecomputeModule::CoreAttention || module == RecomputeModule::LayerNorm;
      RecomputeGroup group;
      group.discards_output = module == RecomputeModule::LayerNorm ||
                              module == RecomputeModule::MoeActivation ||
                              module == RecomputeModule::MlaUpProjection;
      for (std::uint32_t o = layer.first.value; o <= layer.last.value; ++o) {
        if (!in_module(model[OperatorId(o)], module)) continue;
        group.operators.push_back(OperatorId(o));
        if (single) {
          groups.push_back(group);
          group.operators.clear();
        }
      }
      if (!group.operators.empty()) groups.push_back(group);
    }
  }
  return groups;
}

}  // namespace

Retention::Retention(const ModelGraph& model, const Plan& plan, ChunkLayers chunk)
    : model_(model),
      first_(model[chunk.first].first),
      last_(model[chunk.last].last),
      group_of_(last_.value - first_.value + 1, none) {
  switch (plan.spec.recompute_granularity) {
    case RecomputeGranularity::None:
      break;
    case RecomputeGranularity::Selective:
      groups_ = selective(model, plan.spec, chunk);
      break;
    case RecomputeGranularity::Full:
      groups_ = full(model, plan.spec, chunk);
      break;
  }
  // A wider module (the whole MoE) takes its parts' place.
  std::stable_sort(groups_.begin(), groups_.end(), [](const RecomputeGroup& a, const RecomputeGroup& b) {
    return a.operators.size() > b.operators.size();
  });
  std::vector<RecomputeGroup> disjoint;
  for (RecomputeGroup& group : groups_) {
    const bool taken = std::any_of(group.operators.begin(), group.operators.end(),
                                   [&](OperatorId op) { return group_of_[op.value - first_.value] != none; });
    if (taken) continue;
    for (OperatorId op : group.operators)
      group_of_[op.value - first_.value] = static_cast<std::uint32_t>(disjoint.size());
    group.trigger = group.operators.back();
    if (group.discards_output) {
      for (OperatorId op : group.operators) {
        for (OperatorId consumer : model.consumers(model.output(op))) {
          if (consumer <= last_ && backward_reads_inputs(model[consumer]))
            group.trigger = std::max(group.trigger, consumer);
        }
      }
    }
    disjoint.push_back(std::move(group));
  }
  groups_ = std::move(disjoint);
}

std::uint32_t Retention::group_of(OperatorId op) const {
  return op < first_ || op > last_ ? none : group_of_[op.value - first_.value];
}

bool Retention::recomputed(TensorId tensor) const { return group_of(model_[tensor].producer) != none; }

bool Retention::keeps_attention_state(OperatorId op) const { return group_of(op) == none; }

bool Retention::keeps(TensorId id) const {
  const OperatorId producer = model_[id].producer;
  const std::uint32_t group = group_of(producer);
  if (group != none && groups_[group].discards_output) return false;
  if (group == none && backward_reads_output(model_[producer]) && producer >= first_ && producer <= last_)
    return true;
  for (OperatorId consumer : model_.consumers(id)) {
    if (consumer < first_ || consumer > last_) continue;
    const std::uint32_t other = group_of(consumer);
    if (other == none ? backward_reads_inputs(model_[consumer]) : other != group) return true;
  }
  return false;
}

}  // namespace tandem
