// The passes of lowering: chunks, messages, one program a stage.
#include "core/lower/lower.h"

#include <algorithm>
#include <memory>

#include "core/lower/stage_writer.h"
#include "core/model/model_flops.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// Position that holds each layer.
std::vector<std::uint32_t> position_of_layers(const ModelGraph& model, const Plan& plan) {
  std::vector<std::uint32_t> position(model.layers().size(), 0);
  for (std::uint32_t p = 0; p < plan.chunks.size(); ++p) {
    for (std::uint32_t l = plan.chunks[p].first.value; l <= plan.chunks[p].last.value; ++l) position[l] = p;
  }
  return position;
}

// Tensors made at or before `border` and read after it.
std::vector<TensorId> crossing(const ModelGraph& model, const std::vector<std::uint32_t>& position,
                               std::uint32_t border) {
  std::vector<TensorId> result;
  for (std::uint32_t t = 0; t < model.tensors().size(); ++t) {
    const TensorId tensor(t);
    if (position[model[model[tensor].producer].layer.value] > border) continue;
    for (OperatorId consumer : model.consumers(tensor)) {
      if (position[model[consumer].layer.value] <= border) continue;
      result.push_back(tensor);
      break;
    }
  }
  return result;
}

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
  const std::vector<std::uint32_t> position = position_of_layers(model, plan);
  const auto positions = static_cast<std::uint32_t>(plan.chunks.size());
  const bool split = has_slots(plan.schedule, SlotPhase::InputGradient);
  const bool whole = has_slots(plan.schedule, SlotPhase::Backward);
  const Bucketing bucketing =
      plan.spec.zero_stage >= 3 ? Bucketing::ByLayer
      : plan.spec.overlap_grad_reduce || plan.spec.overlap_param_gather || plan.spec.zero_stage == 2
          ? Bucketing::BySize
          : Bucketing::Whole;
  std::vector<std::unique_ptr<LoweredChunk>> chunks;
  std::vector<TensorId> arriving;
  for (std::uint32_t p = 0; p < positions; ++p) {
    std::vector<TensorId> leaving = p + 1 < positions ? crossing(model, position, p) : std::vector<TensorId>{};
    ChunkContext context{model,
                         plan,
                         shard,
                         interner,
                         p,
                         model[plan.chunks[p].first].first,
                         model[plan.chunks[p].last].last,
                         arriving,
                         leaving};
    const Retention retention(model, plan, plan.chunks[p]);
    auto chunk = std::make_unique<LoweredChunk>(
        LoweredChunk{context, lower_forward(context, retention), {}, {}, {}, {}, {}});
    if (whole) chunk->backward = lower_backward(context, retention, chunk->forward.kept);
    if (split) chunk->split = lower_split_backward(context, retention, chunk->forward.kept);
    const Schedule::Home home = plan.schedule.home({p, 0});
    bool holds_embedding = false;
    for (const ChunkPlace& place : plan.schedule.chunks[home.stage])
      holds_embedding = holds_embedding || place.position == 0;
    chunk->buckets = gradient_buckets(context, bucketing, plan.bucket_elements, holds_embedding);
    chunk->input_bytes = total_bytes(model, shard, arriving);
    chunk->output_bytes = total_bytes(model, shard, leaving);
    chunks.push_back(std::move(chunk));
    arriving = std::move(leaving);
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
