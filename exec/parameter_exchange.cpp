// Sums of gradients and gathers of parameters, bucket by bucket or for the whole stage.
#include <algorithm>

#include "exec/exchange_site.h"

namespace tandem {
namespace {

// Elements of a bucket that lie in memory as main gradients.
IndexRange kept(const RankState& state, const BucketLayout& bucket) {
  return bucket.shards > 1 ? state.own_range(bucket) : IndexRange{0, bucket.elements};
}

void add(const float* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

std::vector<ExchangeStep> bucket_reduction(const ExchangeSite& site) {
  RankState& state = *site.state;
  const std::uint32_t b = state.flow().parameters.bucket(site.call.subject.position, site.call.subject.bucket);
  const BucketLayout& bucket = state.flow().parameters.buckets[b];
  const IndexRange own = state.own_range(bucket);
  auto* gradients = reinterpret_cast<float*>(site.data(0));
  const bool scatters = site.collective().kind == CollectiveKind::ReduceScatter;
  // Equal shards of different shard groups are summed after the scatter.
  const bool of_shards = !scatters && bucket.shards > 1;
  float* from = gradients + (of_shards ? own.begin : 0);
  const std::int64_t count = of_shards ? own.size() : bucket.elements;
  ExchangeStep step{site.collective_call(ElementType::Float, reinterpret_cast<std::byte*>(from),
                                         static_cast<std::size_t>(count))};
  if (site.call.operands.size() == 2) {
    // A microbatch's gradients join the main ones.
    step.finish = [&state, b, gradients, own] {
      add(gradients + own.begin, state.gradients(b, own.begin), own.size());
    };
  }
  return {step};
}

std::vector<ExchangeStep> bucket_gather(const ExchangeSite& site) {
  RankState& state = *site.state;
  const std::uint32_t b = state.flow().parameters.bucket(site.call.subject.position, site.call.subject.bucket);
  const BucketLayout& bucket = state.flow().parameters.buckets[b];
  const std::size_t whole = site.call.operands.size() - 1;  // the gathered copy, or the weights themselves
  ExchangeStep step{
      site.collective_call(site.type(), site.data(whole), static_cast<std::size_t>(bucket.elements))};
  if (bucket.gathered_for_use) {
    const IndexRange own = state.own_range(bucket);
    const std::size_t e = site.element();
    step.before = [=] {
      std::memcpy(site.data(1) + static_cast<std::size_t>(own.begin) * e, site.data(0),
                  static_cast<std::size_t>(own.size()) * e);
    };
  }
  return {step};
}

// Runs of main gradients that are summed together, in an order that all members share.
struct Run {
  std::size_t bucket;
  IndexRange range;
};

std::vector<ExchangeStep> gathered_sum(const ExchangeSite& site, std::vector<Run> runs) {
  RankState& state = *site.state;
  std::int64_t count = 0;
  for (const Run& run : runs) count += run.range.size();
  std::byte* memory = site.outgoing(static_cast<std::size_t>(count) * sizeof(float));
  ExchangeStep step{site.collective_call(ElementType::Float, memory, static_cast<std::size_t>(count))};
  const auto walk = [&state, memory, runs](bool pack) {
    auto* at = reinterpret_cast<float*>(memory);
    for (const Run& run : runs) {
      float* gradients = state.gradients(run.bucket, run.range.begin);
      const std::size_t bytes = static_cast<std::size_t>(run.range.size()) * sizeof(float);
      pack ? std::memcpy(at, gradients, bytes) : std::memcpy(gradients, at, bytes);
      at += run.range.size();
    }
  };
  step.before = [walk] { walk(true); };
  step.finish = [walk] { walk(false); };
  return {step};
}

// Of parameters that `wanted` picks, the parts whose gradients are kept here.
template <class Wanted>
std::vector<Run> runs_of(const RankState& state, const Wanted& wanted) {
  std::vector<Run> runs;
  const std::vector<BucketLayout>& buckets = state.flow().parameters.buckets;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const IndexRange here = kept(state, buckets[b]);
    for (std::size_t p = 0; p < buckets[b].places.size(); ++p) {
      const ParameterPlace& place = buckets[b].places[p];
      const IndexRange range{std::max(here.begin, place.offset),
                             std::min(here.end, place.offset + place.count)};
      if (range.begin < range.end && wanted(place, state.shards(b)[p])) runs.push_back({b, range});
    }
  }
  return runs;
}

// Both stages hold the same chunks, in the opposite order.
std::vector<Run> mirrored_runs(const RankState& state) {
  std::vector<Run> runs;
  const std::vector<BucketLayout>& buckets = state.flow().parameters.buckets;
  for (std::size_t b = 0; b < buckets.size(); ++b) runs.push_back({b, kept(state, buckets[b])});
  std::stable_sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) {
    return buckets[a.bucket].position < buckets[b.bucket].position;
  });
  return runs;
}

}  // namespace

std::vector<ExchangeStep> parameter_exchange(const ExchangeSite& site) {
  const RankState& state = *site.state;
  const ModelGraph& model = state.model();
  switch (site.call.subject.part) {
    case Part::BucketAllReduce:
    case Part::BucketReduceScatter:
      return bucket_reduction(site);
    case Part::BucketAllGather:
      return bucket_gather(site);
    case Part::MirrorAllReduce:
      return gathered_sum(site, mirrored_runs(state));
    case Part::EmbeddingAllReduce:
      return gathered_sum(site, runs_of(state, [&](const ParameterPlace& place, const ParameterShard& shard) {
                            return shard.tied_copy || (place.op == table_owner(model) && place.parameter == 0);
                          }));
    case Part::ReplicatedAllReduce:
      return gathered_sum(site, runs_of(state, [](const ParameterPlace& place, const ParameterShard&) {
                            return place.replicated;
                          }));
    case Part::GradientNormAllReduce:
      return {{site.collective_call(ElementType::Double, site.data(0), 1)}};
    default:
      check(false, "an exchange of parameters");
      return {};
  }
}

}  // namespace tandem
