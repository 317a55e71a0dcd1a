// The passes of lowering: chunks, messages, one program a stage.
#include "core/lower/lower.h"

#include <algorithm>
#include <memory>

#include "core/lower/chunk_layout.h"
#include "core/lower/stage_writer.h"
#include "core/model/model_flops.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

Bytes total_bytes(const ModelGraph& model, const Shard& shard, const std::vector<TensorId>& tensors) {
  Bytes total;
  for (TensorId tensor : tensors) total += shard.tensor_bytes(model, model[tensor]);
  return total;
}

bool has_slots(const Schedule& schedule, SlotPhase phase) {
  for (const std::vector<Slot>& slots : schedule.slots) {
    for (const Slot& slot : slots) {
      if (slot.phase == phase) return true;
    }
  }
  return false;
}

std::vector<std::unique_ptr<LoweredChunk>> lower_chunks(const ModelGraph& model, const Plan& plan,
                                                        const Shard& shard, Interner& interner) {
  const bool split = has_slots(plan.schedule, SlotPhase::InputGradient);
  const bool whole = has_slots(plan.schedule, SlotPhase::Backward);
  const std::vector<ChunkLayout> layouts = chunk_layouts(model, plan, shard);
  std::vector<std::unique_ptr<LoweredChunk>> chunks;
  for (std::uint32_t p = 0; p < layouts.size(); ++p) {
    const ChunkLayout& layout = layouts[p];
    const ChunkContext context{model,        plan,        shard,         interner,      p,
                               layout.first, layout.last, layout.inputs, layout.outputs};
    const Retention retention(model, plan, plan.chunks[p]);
    auto chunk = std::make_unique<LoweredChunk>(
        LoweredChunk{context, lower_forward(context, retention), {}, {}, layout.buckets, {}, {}});
    if (whole) chunk->backward = lower_backward(context, retention, chunk->forward.kept);
    if (split) chunk->split = lower_split_backward(context, retention, chunk->forward.kept);
    chunk->input_bytes = total_bytes(model, shard, layout.inputs);
    chunk->output_bytes = total_bytes(model, shard, layout.outputs);
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

void assign_ranks(const Plan& plan, TaskGraph& graph) {
  graph.mesh = plan.mesh;
  graph.device_of = plan.placement;
  graph.program_of.resize(plan.mesh.ranks());
  for (std::uint32_t r = 0; r < plan.mesh.ranks(); ++r)
    graph.program_of[r] = ProgramId(plan.mesh.stage(RankId(r)));
}

void sum_amounts(const ModelGraph& model, const Plan& plan, TaskGraph& graph) {
  const double samples = static_cast<double>(plan.global_batch_size);
  TokenShape one = plan.tokens;
  one.batch = 1;
  graph.model_flops = model_flops(model, one) * samples;
  graph.samples = samples;
  graph.tokens = samples * static_cast<double>(plan.tokens.main);
  graph.microbatches = plan.microbatches;
}

}  // namespace

TaskGraph lower(const ModelGraph& model, const Plan& plan) {
  TaskGraph graph;
  assign_ranks(plan, graph);
  sum_amounts(model, plan, graph);

  Interner interner(graph);
  const Shard shard(model, plan);
  const auto chunks = lower_chunks(model, plan, shard, interner);
  const MessageOrder messages(plan, static_cast<std::uint32_t>(plan.chunks.size()));
  graph.messages = messages.count();
  for (std::uint32_t stage = 0; stage < plan.schedule.stages; ++stage) {
    graph.programs.push_back(StageWriter(model, plan, shard, interner, chunks, messages, stage).write());
  }
  check_task_graph(graph);
  return graph;
}

}  // namespace tandem
