// Optimizer sharding (ZeRO), shard groups, gradient buckets and what may overlap.
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

bool splits_gradients(ScheduleKind kind) {
  return kind == ScheduleKind::ZeroBubbleH1 || kind == ScheduleKind::ZeroBubbleV ||
         kind == ScheduleKind::DualPipe;
}

// ZeRO-2 frees a gradient once it is reduced, after each microbatch; a pipeline adds up the gradients of all
// its microbatches first, so they must stay whole. Megatron-Core offers ZeRO-1 there (its distributed
// optimizer), and torchtitan ZeRO-3 (FSDP), which reduces and frees after each microbatch's backward. That
// backward must be in one piece, however many stages there are: with weight gradients that come later, a
// layer's reduction would start before it is complete.
void check_stage_with_schedule(PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  if (!draft.usable({"zero_stage"})) return;
  const std::int64_t stages = spec.pipeline_model_parallel_size;
  if (draft.usable({"pipeline_model_parallel_size"}) && stages > 1 && spec.zero_stage == 2)
    draft.refuse(
        "zero_stage",
        fmt::format(
            "zero_stage = 2 with pipeline_model_parallel_size = {}: gradients stay whole until the last "
            "microbatch of a pipeline, so there is nothing to shard",
            stages),
        "use 1 (Megatron's distributed optimizer) or 3 (fully sharded)");
  if (spec.zero_stage == 3 && spec.schedule && splits_gradients(*spec.schedule))
    draft.refuse(
        "zero_stage",
        fmt::format("zero_stage = 3 reduces a layer's gradients right after its backward, but schedule "
                    "= {} finishes weight gradients later",
                    name(*spec.schedule)),
        "use zero_stage = 1, or schedule = 1f1b");
}

void resolve_shard_groups(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  if (draft.usable({"zero_stage", "sharding_degree"}) && spec.sharding_degree != 0 && spec.zero_stage == 0)
    return draft.refuse("sharding_degree",
                        fmt::format("sharding_degree = {} needs zero_stage >= 1", spec.sharding_degree),
                        "leave it out, or give a zero_stage");
  if (draft.world == 0 || !draft.usable({"sharding_degree"})) return;
  const std::int64_t replicas = draft.mesh.dp * draft.mesh.cp;
  if (spec.zero_stage == 0) {
    draft.mesh.shard = replicas;
    draft.mesh.expert_shard = draft.mesh.edp;
    return;
  }
  if (spec.sharding_degree == 0) spec.sharding_degree = replicas;
  if (replicas % spec.sharding_degree != 0)
    return draft.refuse(
        "sharding_degree",
        fmt::format(
            "sharding_degree = {} does not divide data_parallel_size {} x context_parallel_size {} = {}",
            spec.sharding_degree, draft.mesh.dp, draft.mesh.cp, replicas),
        use_one_of(divisors(replicas), spec.sharding_degree));
  draft.mesh.shard = spec.sharding_degree;
  // As many copies of the experts' shards as of the dense ones (Megatron's
  // num_distributed_optimizer_instances).
  const std::int64_t copies = replicas / spec.sharding_degree;
  if (draft.mesh.edp % copies != 0) {
    std::vector<std::int64_t> legal;
    for (std::int64_t degree : divisors(replicas))
      if (draft.mesh.edp % (replicas / degree) == 0) legal.push_back(degree);
    return draft.refuse(
        "sharding_degree",
        fmt::format("sharding_degree = {} makes {} copies, which do not divide the {} replicas of an expert",
                    spec.sharding_degree, copies, draft.mesh.edp),
        use_one_of(legal, spec.sharding_degree));
  }
  draft.mesh.expert_shard = draft.mesh.edp / copies;
  if (spec.sharding_degree == 1)
    draft.remark(fmt::format("zero_stage = {} has nothing to shard over one replica", spec.zero_stage));
}

// Megatron-Core's DistributedDataParallel: max(40e6, 1e6 * data-parallel ranks) elements.
void resolve_buckets(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  if (draft.typed("ddp_bucket_size") && !spec.overlap_grad_reduce && spec.zero_stage < 3)
    draft.remark(
        "ddp_bucket_size has little effect without overlap_grad_reduce: gradients are reduced together");
  if (spec.ddp_bucket_size == 0 && draft.world > 0)
    spec.ddp_bucket_size = std::max<std::int64_t>(40'000'000, 1'000'000 * draft.mesh.dp);
}

void check_overlaps(PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  if (!spec.overlap_param_gather || !draft.usable({"zero_stage"})) return;
  if (spec.zero_stage == 0)
    draft.refuse("overlap_param_gather",
                 "overlap_param_gather needs zero_stage >= 1: otherwise no parameters are gathered",
                 "use zero_stage = 1, or leave it out");
  else if (!spec.overlap_grad_reduce)
    draft.refuse("overlap_param_gather", "overlap_param_gather needs overlap_grad_reduce, as in Megatron",
                 "turn overlap_grad_reduce on");
}

}  // namespace

void resolve_sharding(PlanDraft& draft) {
  check_stage_with_schedule(draft);
  resolve_shard_groups(draft);
  resolve_buckets(draft);
  check_overlaps(draft);
}

}  // namespace tandem
