// The invariants of a finished plan.
#include "core/plan/check_plan.h"

#include <algorithm>

#include "core/problem/problem.h"

namespace tandem {
namespace {

void check_mesh(const Plan& plan) {
  const PlanSpec& spec = plan.spec;
  const MeshShape& mesh = plan.mesh.shape();
  check(mesh.tp == spec.tensor_model_parallel_size && mesh.cp == spec.context_parallel_size &&
            mesh.dp == spec.data_parallel_size && mesh.pp == spec.pipeline_model_parallel_size,
        "the mesh has the plan's dense degrees");
  check(mesh.ep == spec.expert_model_parallel_size && mesh.etp == spec.expert_tensor_parallel_size,
        "the mesh has the plan's expert degrees");
  check(mesh.order == spec.rank_order && (spec.zero_stage == 0 || mesh.shard == spec.sharding_degree),
        "the mesh has the plan's order and shards");
  std::vector<std::uint32_t> devices = plan.placement;
  std::sort(devices.begin(), devices.end());
  check(devices.size() == plan.mesh.ranks() &&
            std::adjacent_find(devices.begin(), devices.end()) == devices.end(),
        "every rank has a device of its own");
}

void check_layers(const Plan& plan, const ModelGraph& graph) {
  check(plan.chunks.size() == plan.schedule.positions(), "every position has its layers");
  std::size_t next = 0;
  for (const ChunkLayers& chunk : plan.chunks) {
    check(chunk.first.value == next && chunk.last >= chunk.first, "positions follow one another without gaps");
    next = chunk.last.value + 1;
  }
  check(next == graph.layers().size(), "every layer is in a position");
}

void check_batch(const Plan& plan) {
  check(plan.tokens.batch * plan.microbatches * plan.mesh.shape().dp == plan.global_batch_size,
        "microbatch size x count x dp = global batch");
  check(plan.tokens.batch == plan.spec.micro_batch_size && plan.tokens.main > 0, "a microbatch has tokens");
  check(plan.padded_vocabulary % plan.mesh.shape().tp == 0, "tp divides the padded vocabulary");
  check(plan.bucket_elements > 0, "a bucket holds something");
}

void check_order(const Plan& plan) {
  check(plan.spec.schedule == plan.schedule.kind, "the schedule is the plan's");
  check(
      plan.schedule.stages == plan.mesh.size(Axis::Pipeline) && plan.schedule.microbatches == plan.microbatches,
      "the schedule has the plan's stages and microbatches");
  check_schedule(plan.schedule);
}

}  // namespace

void check_plan(const Plan& plan, const ModelGraph& graph) {
  check_mesh(plan);
  check_layers(plan, graph);
  check_batch(plan);
  check_order(plan);
}

}  // namespace tandem
