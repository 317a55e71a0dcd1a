// What begins and ends a step: gradients set to zero, their norm, the optimizer.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "exec/cpu/kernels/optimizer.h"
#include "exec/cpu/operators/operator_action.h"

namespace tandem {
namespace {

// A parameter's elements that this rank updates, in the bucket's numbering.
template <class F>
void for_own_parameters(const RankState& state, const F& f) {
  const std::vector<BucketLayout>& buckets = state.flow().parameters.buckets;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const IndexRange own = state.own_range(buckets[b]);
    for (std::size_t p = 0; p < buckets[b].places.size(); ++p) {
      const ParameterPlace& place = buckets[b].places[p];
      const IndexRange range{std::max(own.begin, place.offset), std::min(own.end, place.offset + place.count)};
      if (range.begin < range.end) f(b, state.shards(b)[p], range);
    }
  }
}

// Copies of one gradient count once: those of tensor-parallel peers and mirror stages, and without ZeRO those
// of data-parallel replicas.
bool counts(const RankState& state, const BucketLayout& bucket, const ParameterShard& shard) {
  if (!is_first_copy(state.plan(), state.rank(), shard)) return false;
  if (bucket.shards == 1) return state.place(bucket.expert ? Axis::ExpertData : Axis::DataContext) == 0;
  return state.place(bucket.expert ? Axis::ExpertReplica : Axis::Replica) == 0;
}

double own_sum_of_squares(const RankState& state) {
  double sum = 0;
  for_own_parameters(state, [&](std::size_t b, const ParameterShard& shard, IndexRange range) {
    if (counts(state, state.flow().parameters.buckets[b], shard))
      sum += cpu::sum_of_squares(range.size(), state.gradients(b, range.begin));
  });
  return sum;
}

template <class T>
void update(RankState& state, float gradient_scale) {
  const OptimizerOptions& options = state.setup().optimizer;
  const bool half = !std::is_same_v<T, float>;
  const bool adam = state.plan().spec.optimizer == OptimizerKind::Adam;
  const auto rate = static_cast<float>(options.learning_rate.at(state.step));
  for_own_parameters(state, [&](std::size_t b, const ParameterShard& shard, IndexRange range) {
    const BucketLayout& bucket = state.flow().parameters.buckets[b];
    const std::int64_t first = state.own_range(bucket).begin;
    const auto own = [&](ValueKind kind) {
      return reinterpret_cast<float*>(state.data(state.bucket_value(kind, b))) + (range.begin - first);
    };
    T* weights = reinterpret_cast<T*>(state.data(state.bucket_value(ValueKind::Weights, b))) +
                 (range.begin - (bucket.gathered_for_use ? first : 0));
    float* master = half ? own(ValueKind::MasterWeights) : reinterpret_cast<float*>(weights);
    cpu::Bf16* working = half ? reinterpret_cast<cpu::Bf16*>(weights) : nullptr;
    const auto decay = decays(shard) ? static_cast<float>(options.weight_decay) : 0.0f;
    const float* gradient = state.gradients(b, range.begin);
    if (adam) {
      const cpu::AdamW adamw{.learning_rate = rate,
                             .beta1 = static_cast<float>(options.adam_beta1),
                             .beta2 = static_cast<float>(options.adam_beta2),
                             .epsilon = static_cast<float>(options.adam_eps),
                             .weight_decay = decay,
                             .step = state.step + 1,
                             .gradient_scale = gradient_scale};
      cpu::adamw(adamw, range.size(), gradient, master, own(ValueKind::ExpAvg), own(ValueKind::ExpAvgSq),
                 working);
    } else {
      const cpu::Sgd sgd{.learning_rate = rate,
                         .momentum = static_cast<float>(options.sgd_momentum),
                         .weight_decay = decay,
                         .gradient_scale = gradient_scale};
      cpu::sgd(sgd, range.size(), gradient, master, own(ValueKind::ExpAvg), working);
    }
  });
}

// As torch's clip_grad_norm_ has it.
float clip_factor(double norm, double limit) {
  if (limit <= 0) return 1;
  return static_cast<float>(std::min(1.0, limit / (norm + 1e-6)));
}

}  // namespace

template <class T>
Action step_action(const Site<T>& site) {
  RankState& state = *site.state;
  switch (site.call.subject.part) {
    case Part::ZeroGradients:
      return [site] {
        for (std::size_t i = 0; i < site.call.operands.size(); ++i)
          std::memset(site.template as<std::byte>(i), 0,
                      static_cast<std::size_t>(site.state->flow().values[site.value(i)].size.value));
      };
    case Part::GradientNorm: {
      const std::size_t sum = site.call.operands.size() - 1;
      return [site, sum] { *site.template as<double>(sum) = own_sum_of_squares(*site.state); };
    }
    case Part::Optimizer: {
      const bool clips = state.plan().spec.gradient_clipping;
      const std::size_t sum = site.call.operands.size() - 1;
      return [site, clips, sum] {
        float factor = 1;
        if (clips) {
          site.state->gradient_norm = std::sqrt(*site.template as<double>(sum));
          factor = clip_factor(site.state->gradient_norm, site.state->setup().optimizer.clip_grad);
        }
        update<T>(*site.state, factor);
      };
    }
    case Part::Input:
      return [site] { site.state->batch(site.call.microbatch); };
    case Part::Host:
      return [] {};
    default:
      check(false, "a computation of the step");
      return {};
  }
}

template Action step_action<float>(const Site<float>&);
template Action step_action<cpu::Bf16>(const Site<cpu::Bf16>&);

}  // namespace tandem
