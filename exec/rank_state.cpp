// Addresses of values and parameters on one rank.
#include "exec/rank_state.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/element.h"
#include "exec/training/initial_values.h"

namespace tandem {
namespace {

// Elements of a parameter that are made at a time: few, since they lie beside the arena.
constexpr std::int64_t initial_block = std::int64_t{1} << 16;

std::vector<std::vector<ParameterShard>> bucket_shards(const RunSetup& setup, const ParameterLayout& layout,
                                                       RankId rank) {
  std::vector<std::vector<ParameterShard>> result;
  for (const BucketLayout& bucket : layout.buckets) {
    std::vector<ParameterShard>& shards = result.emplace_back();
    for (const ParameterPlace& place : bucket.places) {
      const std::vector<ParameterShard> all = parameter_shards(setup.model, setup.plan, place.op, rank);
      check(place.parameter < all.size() && all[place.parameter].local().count() == place.count,
            "layout and shard of a parameter agree");
      shards.push_back(all[place.parameter]);
    }
  }
  return result;
}

std::vector<std::vector<std::int32_t>> all_positions(BatchShape shape, Sequence sequence) {
  std::vector<std::vector<std::int32_t>> result;
  for (std::int64_t place = 0; place < shape.context_ranks; ++place) {
    shape.context_place = place;
    result.push_back(local_positions(shape, sequence));
  }
  return result;
}

}  // namespace

RankState::RankState(const RunSetup& setup, RankId rank)
    : setup_(setup),
      rank_(rank),
      shard_(setup.model, setup.plan),
      stage_(setup.plan.mesh.stage(rank)),
      program_(setup.graph.program(rank)),
      flow_(bind_values(setup.model, setup.plan, setup.graph, stage_)),
      arena_(plan_arena(flow_, program_)),
      shards_(bucket_shards(setup, flow_.parameters, rank)),
      batch_shape_(tandem::batch_shape(setup.model, setup.plan, rank)),
      loader_(setup.tokens, batch_shape_, objective(setup.model), 0) {
  positions_[0] = all_positions(batch_shape_, Sequence::Main);
  if (batch_shape_.encoder_length > 0) positions_[1] = all_positions(batch_shape_, Sequence::Encoder);
  loss_scale_ = 1 / (static_cast<double>(targets_per_sequence(batch_shape_, objective(setup.model))) *
                     static_cast<double>(setup.plan.global_batch_size));
  find_parameters();
  prepare_routing();
}

void RankState::find_parameters() {
  offsets_.resize(model().size());
  for (std::uint32_t o = 0; o < model().size(); ++o) {
    const std::uint32_t parameters = parameters_read(model(), OperatorId(o));
    for (std::uint32_t p = 0; p < parameters; ++p) {
      const auto found = flow_.parameters.find(model(), OperatorId(o), p);
      offsets_[o].push_back(
          found ? std::optional(flow_.parameters.buckets[found->bucket].places[found->place].offset)
                : std::nullopt);
    }
  }
}

void RankState::prepare_routing() {
  for (std::uint32_t o = 0; o < model().size(); ++o) {
    const OperatorId op(o);
    if (!std::holds_alternative<Dispatch>(model()[op].kind)) continue;
    for (std::uint32_t m = 0; m < plan().microbatches; ++m) routings_[{o, m}];
  }
  for (std::uint32_t v = 0; v < flow_.values.size(); ++v) {
    if (flow_.values[ValueId(v)].routed) overflow_[ValueId(v)];
  }
}

std::byte* RankState::data(ValueId value) const {
  if (flow_.values[value].routed) {
    const std::vector<std::byte>& outside = overflow_.at(value);
    if (!outside.empty()) return const_cast<std::byte*>(outside.data());
  }
  return memory_ + arena_.offset[value];
}

std::byte* RankState::routed(ValueId value, std::size_t bytes) {
  std::vector<std::byte>& outside = overflow_.at(value);
  if (static_cast<double>(bytes) <= flow_.values[value].size.value)
    outside.clear();
  else
    outside.resize(bytes);
  return data(value);
}

std::size_t RankState::overflow_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [value, outside] : overflow_) bytes += outside.capacity();
  return bytes;
}

std::vector<std::byte>& RankState::staging(Lane lane, Staging use, std::size_t bytes) {
  return staging_.try_emplace({lane, use, bytes}, bytes).first->second;
}

IndexRange RankState::own_range(const BucketLayout& bucket) const {
  if (bucket.shards == 1) return {0, bucket.elements};
  const bool hybrid = plan().mesh.size(Axis::Replica) > 1;
  const Axis axis = hybrid          ? (bucket.expert ? Axis::ExpertShard : Axis::Shard)
                    : bucket.expert ? Axis::ExpertData
                                    : Axis::DataContext;
  const std::int64_t begin = bucket.own_elements() * place(axis);
  return {begin, begin + bucket.own_elements()};
}

bool RankState::has_bucket_value(ValueKind kind, std::size_t bucket) const {
  for (std::uint32_t v = 0; v < flow_.values.size(); ++v) {
    const Value& value = flow_.values[ValueId(v)];
    if (value.kind > ValueKind::ExpAvgSq) return false;
    if (value.kind == kind && value.id == bucket) return true;
  }
  return false;
}
ValueId RankState::bucket_value(ValueKind kind, std::size_t bucket) const {
  for (std::uint32_t v = 0; v < flow_.values.size(); ++v) {
    const Value& value = flow_.values[ValueId(v)];
    if (value.kind == kind && value.id == bucket) return ValueId(v);
  }
  check(false, "a bucket has this value");
  return {};
}

float* RankState::gradients(std::size_t bucket, std::int64_t begin) const {
  const BucketLayout& layout = flow_.parameters.buckets[bucket];
  const std::int64_t first = layout.reduced_at_once ? own_range(layout).begin : 0;
  return reinterpret_cast<float*>(data(bucket_value(ValueKind::Gradients, bucket))) + (begin - first);
}

const std::vector<std::int32_t>& RankState::positions(Sequence sequence, std::uint32_t context_place) const {
  return positions_[sequence == Sequence::Encoder][context_place];
}

void RankState::initialize_parameters() {
  for (std::size_t b = 0; b < flow_.parameters.buckets.size(); ++b) {
    for (ValueKind kind :
         {ValueKind::Weights, ValueKind::MasterWeights, ValueKind::ExpAvg, ValueKind::ExpAvgSq}) {
      if (!has_bucket_value(kind, b)) continue;
      const ValueId value = bucket_value(kind, b);
      std::memset(data(value), 0, static_cast<std::size_t>(flow_.values[value].size.value));
    }
    for (std::size_t p = 0; p < shards_[b].size(); ++p) initialize_parameter(b, p);
  }
}

void RankState::initialize_parameter(std::size_t b, std::size_t p) {
  const BucketLayout& bucket = flow_.parameters.buckets[b];
  const ParameterPlace& place = bucket.places[p];
  const InitialRule rule = initial_rule(model(), shards_[b][p]);
  const IndexRange own = own_range(bucket);
  const IndexRange held = bucket.gathered_for_use ? own : IndexRange{0, bucket.elements};
  const bool half = plan().spec.dtype != DType::Fp32;
  std::byte* weights = data(bucket_value(ValueKind::Weights, b));
  std::byte* masters = half ? data(bucket_value(ValueKind::MasterWeights, b)) : nullptr;
  std::vector<float> values;
  for (std::int64_t begin = 0; begin < place.count; begin += initial_block) {
    const IndexRange block{place.offset + begin, place.offset + std::min(begin + initial_block, place.count)};
    values.resize(static_cast<std::size_t>(block.size()));
    initialize(values, shards_[b][p], rule, setup_.seed, begin);
    const auto copy = [&](IndexRange there, auto* to) {
      const std::int64_t end = std::min(block.end, there.end);
      for (std::int64_t i = std::max(block.begin, there.begin); i < end; ++i)
        to[i - there.begin] = cpu::rounded<std::remove_reference_t<decltype(*to)>>(
            values[static_cast<std::size_t>(i - block.begin)]);
    };
    half ? copy(held, reinterpret_cast<cpu::Bf16*>(weights)) : copy(held, reinterpret_cast<float*>(weights));
    if (half) copy(own, reinterpret_cast<float*>(masters));
  }
}

}  // namespace tandem
