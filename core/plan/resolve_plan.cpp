// Turns what users typed into a checked plan: passes over a draft, then the parts of the plan from what they
// found.
#include <span>
#include <utility>

#include "core/plan/check_plan.h"
#include "core/plan/plan.h"
#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

// Each position takes its blocks, the first also the layers before them and the last those after them.
std::vector<ChunkLayers> cut_layers(const ModelGraph& graph,
                                    const std::vector<std::int64_t>& blocks_a_position) {
  const std::span<const Layer> layers = graph.layers();
  std::vector<ChunkLayers> chunks;
  std::size_t next = 0;
  for (std::int64_t blocks : blocks_a_position) {
    const std::size_t first = next;
    while (first == 0 && next < layers.size() && layers[next].role != Layer::Role::Block) ++next;
    while (blocks > 0 && next < layers.size())
      if (layers[next++].role == Layer::Role::Block) --blocks;
    if (chunks.size() + 1 == blocks_a_position.size()) next = layers.size();
    chunks.push_back({LayerId(first), LayerId(next - 1)});
  }
  return chunks;
}

}  // namespace

Plan resolve_plan(const PlanSpec& spec, const ModelSpec& model, const ModelGraph& graph,
                  const MachineShape& machine) {
  PlanDraft draft{.spec = spec, .model = model, .graph = graph, .machine = machine};
  check_ranges(draft);
  resolve_schedule(draft);
  check_tensor_split(draft);
  resolve_degrees(draft);
  resolve_layers(draft);
  resolve_batch(draft);
  resolve_sequences(draft);
  resolve_sharding(draft);
  check_recompute(draft);
  resolve_placement(draft);
  draft.problems.throw_if_any();

  Plan plan;
  plan.mesh = Mesh(draft.mesh);
  plan.schedule = make_schedule(
      *draft.spec.schedule,
      {.stages = static_cast<std::uint32_t>(draft.mesh.pp),
       .microbatches = static_cast<std::uint32_t>(draft.microbatches),
       .chunks_per_stage = static_cast<std::uint32_t>(draft.spec.virtual_pipeline_model_parallel_size)});
  plan.chunks = cut_layers(graph, draft.blocks_a_position);
  plan.microbatches = static_cast<std::uint32_t>(draft.microbatches);
  plan.tokens = draft.tokens;
  plan.global_batch_size = draft.spec.global_batch_size;
  plan.padded_vocabulary = draft.padded_vocabulary;
  plan.bucket_elements = draft.spec.ddp_bucket_size;
  plan.placement = std::move(draft.placement);
  plan.remarks = std::move(draft.remarks);
  plan.spec = std::move(draft.spec);
  check_plan(plan, graph);
  return plan;
}

}  // namespace tandem
