// Counting and bucketing of parameters.
#include "core/lower/parameters.h"

#include <algorithm>

namespace tandem {

ParameterCount& ParameterCount::operator+=(const ParameterCount& other) {
  dense += other.dense;
  expert += other.expert;
  replicated += other.replicated;
  return *this;
}

ParameterCount parameters_of(const ModelGraph& model, const Shard& shard, OperatorId id, bool holds_embedding) {
  const Operator& op = model[id];
  ParameterCount count;
  if (op.tied && !holds_embedding) {
    // The last stage's own copy of the table.
    if (const auto* logits = std::get_if<Linear>(&op.kind)) {
      count.dense = logits->in * (shard.plan().padded_vocabulary / shard.tp());
    }
    return count;
  }
  const std::int64_t local = shard.local_parameters(op);
  const std::int64_t replicated = shard.replicated_parameters(op);
  if (op.split == Split::Expert && local > replicated) {
    count.expert = local - replicated;
    count.dense = replicated;
  } else {
    count.dense = local;
  }
  count.replicated = replicated;
  return count;
}

double gradient_bytes(const PlanSpec& spec) {
  return spec.grad_reduce_in_fp32 || spec.dtype == DType::Fp32 ? 4 : 2;
}
double parameter_bytes(const PlanSpec& spec) { return spec.dtype == DType::Fp32 ? 4 : 2; }

namespace {

bool is_tied_table(const Operator& op) {
  return op.split == Split::Vocabulary && (op.tied || std::holds_alternative<Embedding>(op.kind));
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(const ModelGraph& model, const Shard& shard, OperatorId first,
                                             OperatorId last, Bucketing bucketing, std::int64_t bucket_elements,
                                             bool holds_embedding, TiedTable table) {
  std::vector<GradientBucket> done;
  GradientBucket open[2];
  open[1].expert = true;
  const auto close = [&](GradientBucket& bucket) {
    if (bucket.elements > 0) done.push_back(bucket);
    bucket = GradientBucket{bucket.expert, 0, {}, {}};
  };
  for (std::uint32_t o = last.value + 1; o-- > first.value;) {
    const OperatorId op(o);
    const LayerId layer = model[op].layer;
    const ParameterCount count = parameters_of(model, shard, op, holds_embedding);
    for (bool expert : {false, true}) {
      const std::int64_t elements = expert ? count.expert : count.dense;
      if (elements == 0) continue;
      GradientBucket& bucket = open[expert];
      const bool alone = table == TiedTable::Alone && is_tied_table(model[op]);
      if (alone) close(bucket);
      bucket.elements += elements;
      bucket.operators.push_back(op);
      bucket.first_layer = layer;
      const bool full = bucketing == Bucketing::BySize && bucket.elements >= bucket_elements;
      if (alone || full) close(bucket);
    }
    if (bucketing == Bucketing::ByLayer && op == model[layer].first) {
      close(open[0]);
      close(open[1]);
    }
  }
  close(open[0]);
  close(open[1]);
  return done;
}

}  // namespace tandem
