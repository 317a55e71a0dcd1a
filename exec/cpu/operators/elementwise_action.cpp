// Norms, rotations, activations and residuals.
#include "exec/cpu/kernels/activation.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/norm.h"
#include "exec/cpu/kernels/rotary.h"
#include "exec/cpu/operators/activation_kind.h"
#include "exec/cpu/operators/operator_action.h"

namespace tandem {
namespace {

template <class T>
Action norm_action(const Site<T>& site, const Normalization& norm) {
  const cpu::NormShape shape{.norm = norm.kind == NormKind::LayerNorm ? cpu::Norm::Layer : cpu::Norm::Rms,
                             .rows = site.rows(),
                             .width = norm.width};
  const bool bias = site.has_parameter("bias");
  if (site.forward()) {
    return [=] {
      cpu::norm_forward<T>(shape, site.data(0), site.weight(0, 2), bias ? site.weight(1, 2) : nullptr,
                           site.data(1));
    };
  }
  return [=] {
    cpu::norm_backward<T>(shape, site.data(1), site.weight(0, 3), site.data(0), cpu::Write::Replace,
                          site.data(2), site.gradient(0, 4), bias ? site.gradient(1, 4) : nullptr,
                          *site.scratch);
  };
}

template <class T>
Action rotary_action(const Site<T>& site) {
  const Attention& attention = attention_of_layer(site.model(), site.call.subject.op);
  const Shard& shard = site.shard();
  const cpu::RotaryShape shape{.rows = site.rows(),
                               .heads = shard.local_heads(attention),
                               .kv_heads = shard.local_kv_heads(attention),
                               .head_dim = attention.qk_head_dim,
                               .v_head_dim = attention.v_head_dim,
                               .rotary_dim = site.state->setup().spec.rotary_dim};
  const bool encoder = site.op().sequence == Sequence::Encoder;
  const auto positions = [=] {
    const Batch& batch = site.batch();
    return (encoder ? batch.encoder_positions : batch.positions).data();
  };
  if (site.forward())
    return [=] { cpu::rotary_forward<T>(shape, positions(), site.data(0), site.data(1), *site.scratch); };
  return [=] { cpu::rotary_backward<T>(shape, positions(), site.data(0), site.data(1), *site.scratch); };
}

template <class T>
Action activation_action(const Site<T>& site, const Activation& activation) {
  const std::int64_t rows = site.rows(), width = site.shard().local_width(site.op(), activation.width);
  const cpu::Activation kind = kernel_activation(activation.kind);
  if (activation.gated) {
    if (site.forward())
      return [=] { cpu::gated_activation_forward<T>(kind, rows, width, site.data(0), site.data(1)); };
    return
        [=] { cpu::gated_activation_backward<T>(kind, rows, width, site.data(1), site.data(0), site.data(2)); };
  }
  if (site.forward())
    return [=] { cpu::activation_forward<T>(kind, rows * width, site.data(0), site.data(1)); };
  return [=] { cpu::activation_backward<T>(kind, rows * width, site.data(1), site.data(0), site.data(2)); };
}

template <class T>
Action residual_action(const Site<T>& site) {
  const std::size_t terms = site.call.operands.size() - 1;
  const std::int64_t count = site.elements(terms);
  if (terms == 2) return [=] { cpu::add<T>(count, site.data(0), site.data(1), site.data(2)); };
  check(terms == 3, "a residual adds two or three terms");
  return [=] { cpu::add<T>(count, site.data(0), site.data(1), site.data(2), site.data(3)); };
}

}  // namespace

template <class T>
Action elementwise_action(const Site<T>& site) {
  if (const auto* norm = std::get_if<Normalization>(&site.op().kind)) return norm_action(site, *norm);
  if (std::holds_alternative<Rotary>(site.op().kind)) return rotary_action(site);
  if (const auto* activation = std::get_if<Activation>(&site.op().kind))
    return activation_action(site, *activation);
  check(std::holds_alternative<Residual>(site.op().kind) && site.forward(), "an operator that can run");
  return residual_action(site);
}

template Action elementwise_action<float>(const Site<float>&);
template Action elementwise_action<cpu::Bf16>(const Site<cpu::Bf16>&);

}  // namespace tandem
