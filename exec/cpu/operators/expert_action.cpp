// Mixture of experts: the router's choice, rows to their experts and back, and the experts themselves.
#include <algorithm>
#include <numeric>

#include "exec/cpu/kernels/activation.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/router.h"
#include "exec/cpu/operators/activation_kind.h"
#include "exec/cpu/operators/operator_action.h"

namespace tandem {
namespace {

template <class T>
Routing& routing(const Site<T>& site) {
  return site.state->routing(dispatch_before(site.model(), site.call.subject.op), site.call.microbatch);
}

// A router's state holds [experts | weights], a row's choices side by side.
struct Choices {
  std::int32_t* experts;
  float* weights;
};
template <class T>
Choices choices(const Site<T>& site, std::size_t operand, const cpu::RouterShape& shape) {
  auto* experts = site.template as<std::int32_t>(operand);
  return {experts, reinterpret_cast<float*>(experts + shape.rows * shape.top_k)};
}

template <class T>
Action router_action(const Site<T>& site, const Router& router) {
  const cpu::RouterShape shape{.rows = site.rows(),
                               .experts = router.experts,
                               .top_k = router.top_k,
                               .balanced = site.state->setup().balance_experts};
  const std::int64_t rows = shape.rows, width = router.width, experts = router.experts;
  const bool choose = site.call.subject.part == Part::Choose;
  if (site.forward() && choose) {
    return [=] {
      const Choices chosen = choices(site, 1, shape);
      cpu::choose_experts<T>(shape, site.data(0), chosen.experts, chosen.weights);
    };
  }
  if (site.forward()) {
    return [=] {
      cpu::linear_forward<T>(cpu::dense<const T>(site.data(0), rows, width),
                             cpu::dense<const T>(site.weight(0, 2), experts, width), nullptr,
                             cpu::dense(site.data(1), rows, experts), *site.scratch);
    };
  }
  if (choose) {
    return [=] {
      std::vector<float> dweights(static_cast<std::size_t>(rows * shape.top_k));
      cpu::copy<T, float>(rows * shape.top_k, site.data(0), dweights.data());
      const Choices chosen = choices(site, 1, shape);
      cpu::router_backward<T>(shape, chosen.experts, chosen.weights, dweights.data(), site.data(2));
    };
  }
  if (site.call.phase == Phase::InputGradient) {
    return [=] {
      cpu::linear_input_gradient<T>(cpu::dense<const T>(site.data(0), rows, experts),
                                    cpu::dense<const T>(site.weight(0, 2), experts, width), cpu::Write::Replace,
                                    cpu::dense(site.data(1), rows, width), *site.scratch);
    };
  }
  return weight_gradient_action(site, rows, experts, width);
}

template <class T>
Action dispatch_action(const Site<T>& site, const Dispatch& dispatch) {
  const cpu::RouterShape shape{.rows = site.rows(), .experts = dispatch.experts, .top_k = dispatch.top_k};
  const std::int64_t width = dispatch.width;
  if (!site.forward()) {
    return [=] {
      cpu::dispatch_rows_backward<T>(shape, width, site.template as<std::int32_t>(1), site.data(0),
                                     site.data(2));
    };
  }
  return [=] {
    auto* positions = site.template as<std::int32_t>(2);
    Routing& routed = routing(site);
    routed.rows_of_expert.resize(static_cast<std::size_t>(shape.experts));
    cpu::sort_by_expert(shape, choices(site, 1, shape).experts, routed.rows_of_expert.data(), positions);
    // What an exchange over ep or etp overwrites with what comes.
    routed.arriving.assign(routed.rows_of_expert.begin(), routed.rows_of_expert.end());
    routed.gathered = routed.arriving;
    routed.arriving_rows = routed.rows = shape.rows * shape.top_k;
    const std::size_t bytes = static_cast<std::size_t>(routed.rows * width) * sizeof(T);
    T* to = site.state->flow().values[site.value(3)].routed
                ? reinterpret_cast<T*>(site.state->routed(site.value(3), bytes))
                : site.data(3);
    cpu::dispatch_rows<T>(shape, width, positions, site.data(0), to);
  };
}

template <class T>
Action combine_action(const Site<T>& site, const Combine& combine) {
  const cpu::RouterShape shape{.rows = site.rows(), .experts = combine.experts, .top_k = combine.top_k};
  const std::int64_t width = combine.width;
  if (site.forward()) {
    return [=] {
      cpu::combine_rows<T>(shape, width, site.template as<std::int32_t>(2), choices(site, 1, shape).weights,
                           site.data(0), site.data(3));
    };
  }
  return [=] {
    std::vector<float> dweights(static_cast<std::size_t>(shape.rows * shape.top_k));
    const std::size_t bytes = static_cast<std::size_t>(shape.rows * shape.top_k * width) * sizeof(T);
    T* to = site.state->flow().values[site.value(4)].routed
                ? reinterpret_cast<T*>(site.state->routed(site.value(4), bytes))
                : site.data(4);
    cpu::combine_rows_backward<T>(shape, width, site.template as<std::int32_t>(3),
                                  choices(site, 2, shape).weights, site.data(1), site.data(0), to,
                                  dweights.data());
    cpu::copy<float, T>(shape.rows * shape.top_k, dweights.data(), site.data(5));
  };
}

template <class T>
T* routed_output(const Site<T>& site, std::size_t operand, std::int64_t width) {
  const std::size_t bytes = static_cast<std::size_t>(routing(site).rows * width) * sizeof(T);
  return reinterpret_cast<T*>(site.state->routed(site.value(operand), bytes));
}

template <class T>
Action expert_product(const Site<T>& site, const ExpertLinear& product) {
  const Shard& shard = site.shard();
  const bool down = site.op().name.ends_with("down");
  const std::int64_t experts = product.experts / shard.ep();
  const std::int64_t in = down ? product.in / shard.etp() : product.in;
  const std::int64_t out = down ? product.out : product.out / shard.etp();
  const auto matrix = [=](T* data, std::int64_t width) { return cpu::dense(data, routing(site).rows, width); };
  if (site.forward()) {
    return [=] {
      const cpu::Matrix<T> y = matrix(routed_output(site, 2, out), out);
      for_sources(routing(site), experts, [&](std::span<const cpu::RowGroup> groups) {
        cpu::grouped_linear_forward<T>(groups, matrix(site.data(0), in), site.weight(0, 3), nullptr, y,
                                       *site.scratch);
      });
    };
  }
  if (site.call.phase == Phase::InputGradient) {
    return [=] {
      const cpu::Matrix<T> dx = matrix(routed_output(site, 2, in), in);
      for_sources(routing(site), experts, [&](std::span<const cpu::RowGroup> groups) {
        cpu::grouped_linear_input_gradient<T>(groups, matrix(site.data(0), out), site.weight(0, 3),
                                              cpu::Write::Replace, dx, *site.scratch);
      });
    };
  }
  const std::int64_t weights = experts * in * out;
  if (site.call.subject.part == Part::Accumulate)
    return [=] { cpu::add_in_place<T, float>(weights, site.data(0), site.gradient(0, 1)); };
  const bool early = !site.state->plan().spec.gradient_accumulation_fusion;
  return [=] {
    std::vector<float> sum(early ? static_cast<std::size_t>(weights) : 0, 0.0f);
    float* dw = early ? sum.data() : site.gradient(0, 3);
    for_sources(routing(site), experts, [&](std::span<const cpu::RowGroup> groups) {
      cpu::grouped_linear_weight_gradient<T>(groups, matrix(site.data(0), out), matrix(site.data(1), in), dw,
                                             *site.scratch);
    });
    if (early) cpu::copy<float, T>(weights, sum.data(), site.data(3));
  };
}

template <class T>
Action expert_activation(const Site<T>& site, const ExpertActivation& activation) {
  const std::int64_t width = activation.width / site.shard().etp();
  const std::int64_t in = activation.gated ? 2 * width : width;
  const cpu::Activation kind = kernel_activation(activation.kind);
  const bool gated = activation.gated;
  if (site.forward()) {
    return [=] {
      T* y = routed_output(site, 2, width);
      const std::int64_t rows = routing(site).rows;
      gated ? cpu::gated_activation_forward<T>(kind, rows, width, site.data(0), y)
            : cpu::activation_forward<T>(kind, rows * width, site.data(0), y);
    };
  }
  return [=] {
    T* dx = routed_output(site, 3, in);
    const std::int64_t rows = routing(site).rows;
    gated ? cpu::gated_activation_backward<T>(kind, rows, width, site.data(1), site.data(0), dx)
          : cpu::activation_backward<T>(kind, rows * width, site.data(1), site.data(0), dx);
  };
}

}  // namespace

template <class T>
Action expert_action(const Site<T>& site) {
  const OperatorKind& kind = site.op().kind;
  if (const auto* router = std::get_if<Router>(&kind)) return router_action(site, *router);
  if (const auto* dispatch = std::get_if<Dispatch>(&kind)) return dispatch_action(site, *dispatch);
  if (const auto* combine = std::get_if<Combine>(&kind)) return combine_action(site, *combine);
  if (const auto* product = std::get_if<ExpertLinear>(&kind)) return expert_product(site, *product);
  return expert_activation(site, std::get<ExpertActivation>(kind));
}

template Action expert_action<float>(const Site<float>&);
template Action expert_action<cpu::Bf16>(const Site<cpu::Bf16>&);

}  // namespace tandem
