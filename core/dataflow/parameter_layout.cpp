// Offsets inside buckets, and how many ranks share a bucket.
#include "core/dataflow/parameter_layout.h"

#include "core/problem/problem.h"

namespace tandem {
namespace {

std::uint32_t shards_of(const Plan& plan, bool expert) {
  if (plan.spec.zero_stage == 0) return 1;
  const Axis whole = expert ? Axis::ExpertData : Axis::DataContext;
  const Axis shard = expert ? Axis::ExpertShard : Axis::Shard;
  const bool hybrid = plan.mesh.size(Axis::Replica) > 1;
  return static_cast<std::uint32_t>(plan.mesh.size(hybrid ? shard : whole));
}

bool reduces(const Plan& plan, bool expert) {
  return plan.mesh.size(expert ? Axis::ExpertData : Axis::DataContext) > 1;
}

// Vocabulary-split parameters are filled up to the padded vocabulary.
std::int64_t vocabulary_rows(const Operator& op) {
  if (const auto* table = std::get_if<Embedding>(&op.kind)) return table->rows;
  if (const auto* logits = std::get_if<Linear>(&op.kind)) return logits->out;
  return 1;
}

}  // namespace

std::int64_t local_count(const ModelGraph& model, const Shard& shard, OperatorId id, std::uint32_t parameter) {
  const Operator& op = model[id];
  if (op.tied && op.parameters.empty()) {
    const auto* logits = std::get_if<Linear>(&op.kind);
    return logits ? logits->in * (shard.plan().padded_vocabulary / shard.tp()) : 0;
  }
  const Parameter& p = op.parameters[parameter];
  if (!p.split) return p.count;
  if (op.split == Split::Expert) return p.count / (shard.ep() * shard.etp());
  if (op.split == Split::Vocabulary)
    return p.count / vocabulary_rows(op) * (shard.plan().padded_vocabulary / shard.tp());
  return p.count / shard.tp();
}

OperatorId table_owner(const ModelGraph& model) {
  for (std::uint32_t o = 0; o < model.size(); ++o) {
    const Operator& op = model[OperatorId(o)];
    if (std::holds_alternative<Embedding>(op.kind) && op.split == Split::Vocabulary && !op.tied)
      return OperatorId(o);
  }
  check(false, "a tied operator has an owner");
  return {};
}

std::optional<OperatorId> bias_owner(const ModelGraph& model, OperatorId op) {
  const auto* attention = std::get_if<Attention>(&model[op].kind);
  if (!attention || attention->cross) return std::nullopt;
  // The first block of the same stack.
  for (std::uint32_t o = 0; o <= op.value; ++o) {
    const Operator& other = model[OperatorId(o)];
    if (other.sequence != model[op].sequence) continue;
    const auto* first = std::get_if<Attention>(&other.kind);
    if (first && !first->cross) return other.parameters.empty() ? std::nullopt : std::optional(OperatorId(o));
  }
  return std::nullopt;
}

std::uint32_t parameters_read(const ModelGraph& model, OperatorId op) {
  if (model[op].tied || bias_owner(model, op)) return 1;
  return static_cast<std::uint32_t>(model[op].parameters.size());
}

ParameterLayout parameter_layout(const ModelGraph& model, const Plan& plan, const Shard& shard,
                                 const std::vector<ChunkLayout>& layouts, std::uint32_t stage) {
  ParameterLayout result;
  const std::vector<ChunkPlace>& own = plan.schedule.chunks[stage];
  for (std::uint16_t c = 0; c < own.size(); ++c) {
    const std::vector<GradientBucket>& buckets = layouts[own[c].position].buckets;
    for (std::uint32_t b = 0; b < buckets.size(); ++b) {
      BucketLayout bucket;
      bucket.position = own[c].position;
      bucket.number = b;
      bucket.chunk = c;
      bucket.expert = buckets[b].expert;
      bucket.shards = shards_of(plan, bucket.expert);
      bucket.reduced_at_once = plan.spec.zero_stage >= 2 && reduces(plan, bucket.expert);
      bucket.gathered_for_use = plan.spec.zero_stage >= 3 && bucket.shards > 1;
      for (OperatorId op : buckets[b].operators) {
        const bool copy = model[op].tied;
        const std::size_t parameters = copy ? 1 : model[op].parameters.size();
        for (std::uint32_t p = 0; p < parameters; ++p) {
          const bool split = copy || model[op].parameters[p].split;
          if ((model[op].split == Split::Expert && split) != bucket.expert) continue;
          const std::int64_t count = local_count(model, shard, op, p);
          bucket.places.push_back({op, p, bucket.elements, count, !split});
          bucket.elements += count;
        }
      }
      const std::int64_t grain = 16 * static_cast<std::int64_t>(bucket.shards);
      bucket.elements = (bucket.elements + grain - 1) / grain * grain;
      result.buckets.push_back(std::move(bucket));
    }
  }
  return result;
}

std::optional<ParameterLayout::Found> ParameterLayout::find(const ModelGraph& model, OperatorId op,
                                                            std::uint32_t parameter) const {
  for (std::uint32_t b = 0; b < buckets.size(); ++b) {
    for (std::uint32_t p = 0; p < buckets[b].places.size(); ++p) {
      const ParameterPlace& place = buckets[b].places[p];
      if (place.op == op && place.parameter == parameter) return Found{b, p};
    }
  }
  const std::optional<OperatorId> owner =
      model[op].tied ? std::optional(table_owner(model)) : bias_owner(model, op);
  return !owner || *owner == op ? std::nullopt : find(model, *owner, parameter);
}

std::uint32_t ParameterLayout::bucket(std::uint32_t position, std::uint32_t number) const {
  for (std::uint32_t b = 0; b < buckets.size(); ++b) {
    if (buckets[b].position == position && buckets[b].number == number) return b;
  }
  check(false, "a stage knows its buckets");
  return 0;
}

}  // namespace tandem
