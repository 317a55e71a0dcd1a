// Linear operators: y = x W^T + b, and both gradients.
#include <cstring>
#include <vector>

#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/operators/operator_action.h"

namespace tandem {
namespace {

// A weight gradient on its own, before a pass of its own adds it to the main gradient.
template <class T>
void early_gradient(cpu::Matrix<const T> dy, cpu::Matrix<const T> x, T* dw, cpu::Scratch& scratch) {
  std::vector<float> sum(static_cast<std::size_t>(dy.columns * x.columns), 0.0f);
  cpu::linear_weight_gradient<T>(dy, x, cpu::dense(sum.data(), dy.columns, x.columns), scratch);
  cpu::copy<float, T>(dy.columns * x.columns, sum.data(), dw);
}

}  // namespace

// [dy, x, gradient] or, before a pass of its own adds it, [dy, x, early gradient] and [early gradient,
// gradient].
template <class T>
Action weight_gradient_action(const Site<T>& site, std::int64_t rows, std::int64_t out, std::int64_t in) {
  if (site.call.subject.part == Part::Accumulate)
    return [=] { cpu::add_in_place<T, float>(out * in, site.data(0), site.gradient(0, 1)); };
  const auto dy = [=] { return cpu::dense<const T>(site.data(0), rows, out); };
  const auto x = [=] { return cpu::dense<const T>(site.data(1), rows, in); };
  if (!site.state->plan().spec.gradient_accumulation_fusion)
    return [=] { early_gradient<T>(dy(), x(), site.data(2), *site.scratch); };
  return [=] {
    cpu::linear_weight_gradient<T>(dy(), x(), cpu::dense(site.gradient(0, 2), out, in), *site.scratch);
  };
}

template <class T>
Action product_action(const Site<T>& site) {
  const auto& linear = std::get<Linear>(site.op().kind);
  const Shard& shard = site.shard();
  const std::int64_t rows = site.rows(), out = shard.local_width(site.op(), linear.out);
  const std::int64_t in = site.op().split == Split::Row ? linear.in / shard.tp() : linear.in;
  const auto matrix = [](auto* data, std::int64_t r, std::int64_t c) { return cpu::dense(data, r, c); };
  if (site.forward()) {
    // The sum over ranks holds the bias of a row-split product once.
    const bool adds_bias =
        site.has_parameter("bias") && (site.op().split != Split::Row || site.state->place(Axis::Tensor) == 0);
    return [=] {
      const T* bias = adds_bias ? site.weight(1, 2) : nullptr;
      cpu::linear_forward<T>(matrix(site.data(0), rows, in), cpu::dense<const T>(site.weight(0, 2), out, in),
                             bias, matrix(site.data(1), rows, out), *site.scratch);
    };
  }
  if (site.call.phase == Phase::InputGradient) {
    return [=] {
      cpu::linear_input_gradient<T>(matrix(site.data(0), rows, out),
                                    cpu::dense<const T>(site.weight(0, 2), out, in), cpu::Write::Replace,
                                    matrix(site.data(1), rows, in), *site.scratch);
    };
  }
  if (site.call.subject.part == Part::Bias) {
    // Copies on all ranks: under sequence parallelism each sums its own tokens, and all ranks' sums are added.
    const bool own = site.op().split == Split::Row && shard.sequence_parallel();
    const std::int64_t begin = own ? site.own_begin() : 0, count = own ? site.own_rows() : rows;
    return [=] {
      cpu::bias_gradient<T>(matrix(site.data(0) + begin * out, count, out), site.gradient(1, 1), *site.scratch);
    };
  }
  return weight_gradient_action(site, rows, out, in);
}

template Action weight_gradient_action<float>(const Site<float>&, std::int64_t, std::int64_t, std::int64_t);
template Action weight_gradient_action<cpu::Bf16>(const Site<cpu::Bf16>&, std::int64_t, std::int64_t,
                                                  std::int64_t);
template Action product_action<float>(const Site<float>&);
template Action product_action<cpu::Bf16>(const Site<cpu::Bf16>&);

}  // namespace tandem
