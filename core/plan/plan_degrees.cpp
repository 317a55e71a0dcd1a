// Parallel degrees against the machine: the data-parallel degree, the expert side, the schedule's chunks, the
// placement.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;

// "tp 8 x pp 16", only degrees above 1.
std::string degrees_text(const PlanSpec& spec, std::int64_t dp) {
  std::string text;
  const auto add = [&](std::string_view name, std::int64_t degree) {
    if (degree > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, degree);
  };
  add("tp", spec.tensor_model_parallel_size);
  add("cp", spec.context_parallel_size);
  add("dp", dp);
  add("pp", spec.pipeline_model_parallel_size);
  return text.empty() ? "no parallelism" : text;
}

// The degree that is most likely the mistake: one that was typed, the largest of them.
std::string largest_degree(const PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  std::string largest = "tensor_model_parallel_size";
  std::int64_t size = 0;
  const auto look = [&](const char* key, std::int64_t degree) {
    if (degree <= size) return;
    size = degree;
    largest = key;
  };
  look("tensor_model_parallel_size", spec.tensor_model_parallel_size);
  look("pipeline_model_parallel_size", spec.pipeline_model_parallel_size);
  look("context_parallel_size", spec.context_parallel_size);
  return largest;
}

void derive_data_parallel(PlanDraft& draft, std::int64_t model_ranks) {
  const std::int64_t devices = draft.machine.devices;
  const std::string key = largest_degree(draft), degrees = degrees_text(draft.spec, 1);
  if (model_ranks > devices) {
    draft.refuse(key,
                 fmt::format("the plan needs at least {} devices ({}), the cluster has {}", model_ranks,
                             degrees, devices),
                 "lower a degree, or use more devices");
    draft.broken.insert("data_parallel_size");
    return;
  }
  if (devices % model_ranks == 0) {
    draft.spec.data_parallel_size = devices / model_ranks;
    return;
  }
  const PlanSpec& spec = draft.spec;
  const std::int64_t of_key = key == "pipeline_model_parallel_size" ? spec.pipeline_model_parallel_size
                              : key == "context_parallel_size"      ? spec.context_parallel_size
                                                                    : spec.tensor_model_parallel_size;
  const std::int64_t others = model_ranks / of_key;
  std::string hint = "use degrees whose product divides the devices";
  if (devices % others == 0)
    hint = fmt::format("for {}, {}", key, use_one_of(divisors(devices / others), of_key));
  draft.refuse(key,
               fmt::format("the plan needs a multiple of {} devices ({}), the cluster has {}", model_ranks,
                           degrees, devices),
               std::move(hint));
  draft.broken.insert("data_parallel_size");
}

void check_world(PlanDraft& draft, std::int64_t model_ranks) {
  const std::int64_t devices = draft.machine.devices, dp = draft.spec.data_parallel_size;
  const std::int64_t world = bounded_product({model_ranks, dp});
  if (world == devices) return;
  if (world < devices && !draft.spec.placement.empty()) {
    draft.remark(fmt::format("{} of {} devices stay idle, as placed", devices - world, devices));
    return;
  }
  std::string hint = world < devices ? "use fewer devices, or a placement that says which of them to use"
                                     : "lower a degree, or use more devices";
  if (devices % model_ranks == 0)
    hint = fmt::format("use data_parallel_size = {}, or leave it out", devices / model_ranks);
  draft.refuse("data_parallel_size",
               fmt::format("the plan needs {} devices ({}), the cluster has {}",
                           world == std::numeric_limits<std::int64_t>::max() ? std::string("more than 9e18")
                                                                             : fmt::format("{}", world),
                           degrees_text(draft.spec, dp), devices),
               std::move(hint));
}

void resolve_experts(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  if (!draft.graph.has_experts()) {
    const auto refuse = [&](const std::string& key, std::int64_t degree) {
      if (draft.usable({key}))
        draft.refuse(key, fmt::format("{} = {}, but {} has no experts", key, degree, draft.graph.name()),
                     "leave it out");
    };
    const std::int64_t ep = spec.expert_model_parallel_size, etp = spec.expert_tensor_parallel_size;
    if (ep > 1) refuse("expert_model_parallel_size", ep);
    if (etp > 1 && etp != spec.tensor_model_parallel_size) refuse("expert_tensor_parallel_size", etp);
    spec.expert_tensor_parallel_size = spec.tensor_model_parallel_size;
    return;
  }
  // Megatron-Core's default.
  if (spec.expert_tensor_parallel_size == 0) spec.expert_tensor_parallel_size = spec.tensor_model_parallel_size;
  if (!draft.usable({"expert_model_parallel_size", "expert_tensor_parallel_size", "tensor_model_parallel_size",
                     "context_parallel_size", "data_parallel_size"}))
    return;
  const std::int64_t ep = spec.expert_model_parallel_size, etp = spec.expert_tensor_parallel_size;
  const std::int64_t ranks = spec.tensor_model_parallel_size * spec.context_parallel_size *
                             spec.data_parallel_size;  // bounded by devices
  const std::int64_t expert_ranks = bounded_product({ep, etp});
  if (ranks % expert_ranks == 0) return;
  std::vector<std::int64_t> legal;
  if (ranks % etp == 0)
    for (std::int64_t candidate : divisors(ranks / etp))
      if (draft.model.moe.experts % candidate == 0) legal.push_back(candidate);
  draft.refuse(
      "expert_model_parallel_size",
      fmt::format(
          "expert_model_parallel_size = {} x expert_tensor_parallel_size = {} does not divide the {} ranks "
          "of a pipeline stage (tp x cp x dp)",
          ep, etp, ranks),
      legal.empty() ? "use an expert_tensor_parallel_size that divides them" : use_one_of(legal, ep));
}

}  // namespace

void resolve_degrees(PlanDraft& draft) {
  if (draft.machine.devices < 1 || draft.machine.devices > kMostRanks) {
    draft.refuse("data_parallel_size", fmt::format("the cluster has {} devices", draft.machine.devices),
                 fmt::format("use 1 to {} devices", kMostRanks));
    return;
  }
  PlanSpec& spec = draft.spec;
  const bool usable = draft.usable({"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                    "context_parallel_size", "data_parallel_size"});
  if (usable) {
    const std::int64_t model_ranks = bounded_product(
        {spec.tensor_model_parallel_size, spec.pipeline_model_parallel_size, spec.context_parallel_size});
    if (spec.data_parallel_size == 0)
      derive_data_parallel(draft, model_ranks);
    else
      check_world(draft, model_ranks);
  } else {
    draft.broken.insert("data_parallel_size");
  }
  resolve_experts(draft);
  if (!draft.usable({"data_parallel_size", "expert_model_parallel_size", "expert_tensor_parallel_size"}))
    return;
  MeshShape& mesh = draft.mesh;
  mesh.tp = spec.tensor_model_parallel_size;
  mesh.cp = spec.context_parallel_size;
  mesh.dp = spec.data_parallel_size;
  mesh.pp = spec.pipeline_model_parallel_size;
  mesh.ep = spec.expert_model_parallel_size;
  mesh.etp = spec.expert_tensor_parallel_size;
  mesh.edp = mesh.tp * mesh.cp * mesh.dp / (mesh.etp * mesh.ep);
  mesh.order = spec.rank_order;
  draft.world = mesh.tp * mesh.cp * mesh.dp * mesh.pp;
}

void resolve_placement(PlanDraft& draft) {
  if (draft.world == 0) return;
  if (const std::string misfit = mesh_misfit(draft.mesh); !misfit.empty())
    draft.refuse("rank_order", fmt::format("rank_order: {}", misfit),
                 "use tp-cp-ep-dp-pp (the default), or another order of the five that keeps pp last");
  const std::vector<std::uint32_t>& placement = draft.spec.placement;
  if (placement.empty()) {
    draft.placement.resize(static_cast<std::size_t>(draft.world));
    std::iota(draft.placement.begin(), draft.placement.end(), 0u);
    if (draft.mesh.order.starts_with("tp") && draft.mesh.tp > draft.machine.devices_per_node &&
        draft.machine.devices_per_node > 0)
      draft.remark(fmt::format("tensor parallel groups of {} span nodes of {} devices", draft.mesh.tp,
                               draft.machine.devices_per_node));
    return;
  }
  if (static_cast<std::int64_t>(placement.size()) != draft.world) {
    draft.refuse(
        "placement",
        fmt::format("placement names {} devices, the plan has {} ranks", placement.size(), draft.world),
        "name one device a rank, or leave it out");
    return;
  }
  std::vector<bool> taken(static_cast<std::size_t>(draft.machine.devices));
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const std::uint32_t device = placement[rank];
    if (device >= draft.machine.devices) {
      draft.refuse("placement",
                   fmt::format("placement puts rank {} on device {}, the cluster has devices 0 to {}", rank,
                               device, draft.machine.devices - 1));
      return;
    }
    if (taken[device]) {
      draft.refuse(
          "placement",
          fmt::format("placement puts rank {} on device {}, where another rank is already", rank, device),
          "name each device once");
      return;
    }
    taken[device] = true;
  }
  draft.placement = placement;
}

}  // namespace tandem
