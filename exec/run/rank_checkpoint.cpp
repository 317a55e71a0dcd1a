// Buckets of a rank, parameter by parameter.
#include "exec/run/rank_checkpoint.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/element.h"

namespace tandem {
namespace {

IndexRange common(IndexRange a, IndexRange b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

// A bucket as it lies in the rank's memory; ranges are the bucket's own numbering.
class BucketMemory {
 public:
  BucketMemory(const RankState& state, std::size_t bucket)
      : state_(state),
        bucket_(bucket),
        layout_(state.flow().parameters.buckets[bucket]),
        own_(state.own_range(layout_)),
        half_(state.plan().spec.dtype != DType::Fp32) {}

  IndexRange own() const { return own_; }
  // Whose working weights lie in memory all step long.
  IndexRange held() const { return layout_.gathered_for_use ? own_ : IndexRange{0, layout_.elements}; }

  float* master(std::int64_t at) const {
    return half_ ? own_values(ValueKind::MasterWeights, at) : working<float>(at);
  }
  float* own_values(ValueKind kind, std::int64_t at) const { return values<float>(kind) + (at - own_.begin); }
  bool has(ValueKind kind) const { return state_.has_bucket_value(kind, bucket_); }

  // Weights of a held range in working precision, and those of them that are owned in full.
  void set_weights(IndexRange range, const float* weights) const {
    if (!half_) {
      std::memcpy(working<float>(range.begin), weights, static_cast<std::size_t>(range.size()) * sizeof(float));
      return;
    }
    for (std::int64_t i = 0; i < range.size(); ++i)
      working<cpu::Bf16>(range.begin)[i] = cpu::rounded<cpu::Bf16>(weights[i]);
    const IndexRange mine = common(range, own_);
    if (mine.size() > 0)
      std::memcpy(master(mine.begin), weights + (mine.begin - range.begin),
                  static_cast<std::size_t>(mine.size()) * sizeof(float));
  }

  // Without ZeRO each data-parallel place has the same, with hybrid ZeRO each replica of the shards.
  bool is_first_replica() const {
    const Axis equals = layout_.shards == 1 ? (layout_.expert ? Axis::ExpertData : Axis::DataContext)
                                            : (layout_.expert ? Axis::ExpertReplica : Axis::Replica);
    return state_.place(equals) == 0;
  }

  // f(shard, first element of the shard in the bucket, elements of it in `range`).
  template <class F>
  void for_shards(IndexRange range, const F& f) const {
    for (std::size_t p = 0; p < layout_.places.size(); ++p) {
      const ParameterPlace& place = layout_.places[p];
      const IndexRange part = common(range, {place.offset, place.offset + place.count});
      if (part.size() > 0) f(state_.shards(bucket_)[p], place.offset, part);
    }
  }

 private:
  template <class T>
  T* values(ValueKind kind) const {
    return reinterpret_cast<T*>(state_.data(state_.bucket_value(kind, bucket_)));
  }
  template <class T>
  T* working(std::int64_t at) const {
    return values<T>(ValueKind::Weights) + (at - held().begin);
  }

  const RankState& state_;
  std::size_t bucket_;
  const BucketLayout& layout_;
  IndexRange own_;
  bool half_;
};

struct Moment {
  ValueKind kind;
  CheckpointValue stored;
};
std::vector<Moment> moments(const RankState& state) {
  if (state.plan().spec.optimizer == OptimizerKind::Adam)
    return {{ValueKind::ExpAvg, CheckpointValue::ExpAvg}, {ValueKind::ExpAvgSq, CheckpointValue::ExpAvgSq}};
  return {{ValueKind::ExpAvg, CheckpointValue::Momentum}};
}

std::span<float> span_of(float* begin, IndexRange range) {
  return {begin, static_cast<std::size_t>(range.size())};
}

}  // namespace

void save(const RankState& state, CheckpointWriter& writer) {
  for (std::size_t b = 0; b < state.flow().parameters.buckets.size(); ++b) {
    const BucketMemory memory(state, b);
    if (!memory.is_first_replica()) continue;
    memory.for_shards(memory.own(), [&](const ParameterShard& shard, std::int64_t offset, IndexRange part) {
      if (!is_first_copy(state.plan(), state.rank(), shard)) return;
      const std::int64_t begin = part.begin - offset;
      writer.add(shard, CheckpointValue::Weight, span_of(memory.master(part.begin), part), begin);
      for (const Moment& moment : moments(state))
        if (memory.has(moment.kind))
          writer.add(shard, moment.stored, span_of(memory.own_values(moment.kind, part.begin), part), begin);
    });
  }
}

void load(RankState& state, CheckpointReader& reader) {
  for (const Moment& moment : moments(state))
    if (!reader.has(moment.stored))
      refuse({}, fmt::format("the checkpoint has no {}: it is of another optimizer", name(moment.stored)));
  std::vector<float> weights;
  for (std::size_t b = 0; b < state.flow().parameters.buckets.size(); ++b) {
    const BucketMemory memory(state, b);
    memory.for_shards(memory.held(), [&](const ParameterShard& shard, std::int64_t offset, IndexRange part) {
      weights.resize(static_cast<std::size_t>(part.size()));
      reader.read(shard, CheckpointValue::Weight, weights, part.begin - offset);
      memory.set_weights(part, weights.data());
    });
    memory.for_shards(memory.own(), [&](const ParameterShard& shard, std::int64_t offset, IndexRange part) {
      for (const Moment& moment : moments(state))
        if (memory.has(moment.kind))
          reader.read(shard, moment.stored, span_of(memory.own_values(moment.kind, part.begin), part),
                      part.begin - offset);
    });
  }
}

}  // namespace tandem
