// Recompute: which keys belong to which granularity, and their bounds.
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

constexpr const char* kLayers = "recompute_num_layers";
constexpr const char* kModules = "recompute_modules";

void check_full(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  if (!spec.recompute_modules.empty())
    draft.refuse(kModules, "recompute_modules has no effect with recompute_granularity = full", "leave it out");
  if (!draft.usable({kLayers})) return;
  const bool block = spec.recompute_method == RecomputeMethod::Block;
  if (spec.recompute_num_layers == 0 && block)
    return draft.refuse(
        kLayers, "recompute_method = block needs recompute_num_layers, the layers of a chunk to recompute",
        "use at least 1");
  if (spec.recompute_num_layers == 0) spec.recompute_num_layers = 1;
  if (draft.blocks_a_position.empty() || !draft.usable({"pipeline_layers"})) return;
  const std::int64_t most = *std::max_element(draft.blocks_a_position.begin(), draft.blocks_a_position.end());
  if (spec.recompute_num_layers > most)
    draft.refuse(kLayers,
                 fmt::format("recompute_num_layers = {} is more than the {} layers of a chunk",
                             spec.recompute_num_layers, most),
                 fmt::format("use 1 to {}", most));
}

bool has_latent_attention(const ModelGraph& model) {
  for (std::uint32_t op = 0; op < model.size(); ++op)
    if (model[OperatorId(op)].name == "attention.kv_b") return true;
  return false;
}

void check_modules(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  if (spec.recompute_num_layers != 0 && draft.usable({kLayers}))
    draft.refuse(kLayers, "recompute_num_layers has no effect with recompute_granularity = selective",
                 "leave it out, or use full");
  if (spec.recompute_modules.empty()) spec.recompute_modules = {RecomputeModule::CoreAttention};
  std::sort(spec.recompute_modules.begin(), spec.recompute_modules.end());
  spec.recompute_modules.erase(std::unique(spec.recompute_modules.begin(), spec.recompute_modules.end()),
                               spec.recompute_modules.end());
  const auto of_experts = [](RecomputeModule module) {
    return module == RecomputeModule::Moe || module == RecomputeModule::MoeActivation;
  };
  if (!draft.graph.has_experts() &&
      std::any_of(spec.recompute_modules.begin(), spec.recompute_modules.end(), of_experts))
    draft.refuse(
        kModules,
        fmt::format("recompute_modules names a module of experts, but {} has none", draft.graph.name()),
        "leave it out");
  const bool latent = has_latent_attention(draft.graph);
  if (!latent && std::find(spec.recompute_modules.begin(), spec.recompute_modules.end(),
                           RecomputeModule::MlaUpProjection) != spec.recompute_modules.end())
    draft.refuse(
        kModules,
        fmt::format("recompute_modules names mla_up_proj, but {} has no latent attention", draft.graph.name()),
        "leave it out");
}

}  // namespace

void check_recompute(PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  const auto refuse_typed = [&](const std::string& key, bool given) {
    if (given && draft.usable({key}))
      draft.refuse(key, fmt::format("{} has no effect without recompute_granularity", key),
                   "give recompute_granularity, or leave it out");
  };
  switch (spec.recompute_granularity) {
    case RecomputeGranularity::Full:
      return check_full(draft);
    case RecomputeGranularity::Selective:
      if (spec.recompute_method == RecomputeMethod::Block || draft.typed("recompute_method"))
        draft.refuse("recompute_method",
                     "recompute_method has no effect with recompute_granularity = selective",
                     "leave it out, or use full");
      return check_modules(draft);
    case RecomputeGranularity::None:
      refuse_typed(kLayers, spec.recompute_num_layers != 0);
      refuse_typed(kModules, !spec.recompute_modules.empty());
      refuse_typed("recompute_method",
                   spec.recompute_method == RecomputeMethod::Block || draft.typed("recompute_method"));
      return;
  }
}

}  // namespace tandem
