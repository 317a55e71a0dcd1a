// Cross entropy, its vocabulary split over tensor-parallel ranks.
#include "exec/cpu/kernels/cross_entropy.h"

#include "exec/cpu/operators/operator_action.h"

namespace tandem {

template <class T>
Action loss_action(const Site<T>& site) {
  const auto& loss = std::get<CrossEntropy>(site.op().kind);
  const std::int64_t columns = site.state->plan().padded_vocabulary / site.shard().tp();
  const cpu::LogitShard shape{.rows = site.rows(),
                              .columns = columns,
                              .first_column = site.state->place(Axis::Tensor) * columns,
                              .vocabulary = loss.vocabulary};
  const std::int64_t rows = shape.rows;
  // The state holds [maximum | sum | target].
  if (site.forward()) {
    return [=] {
      float* state = site.template as<float>(1);
      cpu::local_max_sum_target<T>(shape, site.data(0), site.batch().targets.data(), state, state + rows,
                                   state + 2 * rows);
    };
  }
  const bool counts = site.state->place(Axis::Tensor) == 0;
  return [=] {
    const float* state = site.template as<float>(1);
    const std::int32_t* targets = site.batch().targets.data();
    const double scale = site.state->loss_scale();
    if (counts)
      site.state->loss +=
          scale * cpu::cross_entropy(rows, targets, state, state + rows, state + 2 * rows, nullptr).sum;
    cpu::cross_entropy_backward<T>(shape, site.data(0), targets, state, state + rows, static_cast<float>(scale),
                                   site.data(0));
  };
}

template Action loss_action<float>(const Site<float>&);
template Action loss_action<cpu::Bf16>(const Site<cpu::Bf16>&);

}  // namespace tandem
