// Cuts the model where the plan cuts it.
#include "core/lower/chunk_layout.h"

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

Bucketing bucketing(const PlanSpec& spec) {
  if (spec.zero_stage >= 3) return Bucketing::ByLayer;
  const bool early = spec.overlap_grad_reduce || spec.overlap_param_gather || spec.zero_stage == 2;
  return early ? Bucketing::BySize : Bucketing::Whole;
}

}  // namespace

bool holds_embedding(const Plan& plan, std::uint32_t position) {
  for (const ChunkPlace& place : plan.schedule.chunks[plan.schedule.home({position, 0}).stage]) {
    if (place.position == 0) return true;
  }
  return false;
}

std::vector<ChunkLayout> chunk_layouts(const ModelGraph& model, const Plan& plan, const Shard& shard) {
  const std::vector<std::uint32_t> position = position_of_layers(model, plan);
  const auto positions = static_cast<std::uint32_t>(plan.chunks.size());
  const bool copies = model.tied_embeddings() && !holds_embedding(plan, positions - 1);
  std::vector<ChunkLayout> layouts;
  for (std::uint32_t p = 0; p < plan.chunks.size(); ++p) {
    ChunkLayout layout;
    layout.first = model[plan.chunks[p].first].first;
    layout.last = model[plan.chunks[p].last].last;
    if (p > 0) layout.inputs = layouts.back().outputs;
    if (p + 1 < plan.chunks.size()) layout.outputs = crossing(model, position, p);
    layout.buckets =
        gradient_buckets(model, shard, layout.first, layout.last, bucketing(plan.spec), plan.bucket_elements,
                         holds_embedding(plan, p), copies ? TiedTable::Alone : TiedTable::InBucket);
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

}  // namespace tandem
