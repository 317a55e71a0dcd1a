// Which file knows a task's action.
#include "exec/cpu/operators/actions.h"

#include <cstring>

#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/operators/operator_action.h"

namespace tandem {
namespace {

// Into the first operand, which holds one contribution already unless three operands say otherwise.
template <class T>
Action gradient_sum(const Site<T>& site) {
  if (site.call.operands.empty()) return [] {};
  const std::int64_t count = site.elements(0);
  if (site.call.operands.size() == 2)
    return [=] { cpu::add_in_place<T, T>(count, site.data(1), site.data(0)); };
  return [=] { cpu::add<T>(count, site.data(1), site.data(2), site.data(0)); };
}

template <class T>
Action operator_action(const Site<T>& site) {
  if (site.call.subject.part == Part::GradientSum) return gradient_sum(site);
  struct Chosen {
    const Site<T>& site;
    Action operator()(const Linear&) const { return product_action(site); }
    Action operator()(const Router&) const { return expert_action(site); }
    Action operator()(const Dispatch&) const { return expert_action(site); }
    Action operator()(const Combine&) const { return expert_action(site); }
    Action operator()(const ExpertLinear&) const { return expert_action(site); }
    Action operator()(const ExpertActivation&) const { return expert_action(site); }
    Action operator()(const Embedding&) const { return embedding_action(site); }
    Action operator()(const Attention&) const { return attention_action(site); }
    Action operator()(const CrossEntropy&) const { return loss_action(site); }
    Action operator()(const Normalization&) const { return elementwise_action(site); }
    Action operator()(const Rotary&) const { return elementwise_action(site); }
    Action operator()(const Activation&) const { return elementwise_action(site); }
    Action operator()(const Residual&) const { return elementwise_action(site); }
    Action operator()(const Scale&) const { return elementwise_action(site); }
  };
  return std::visit(Chosen{site}, site.op().kind);
}

template <class T>
Action action(const ComputeCall& call, RankState& state, cpu::Scratch& scratch) {
  const Site<T> site{call, &state, &scratch};
  Action action = call.subject.part >= Part::BucketAllReduce ? step_action(site) : operator_action(site);
  // Gradients of a microbatch start at zero; the task that touches them first says so.
  for (const Operand& operand : call.operands) {
    const Value& value = state.flow().values[operand.value];
    if (operand.access != Operand::Access::Write || value.kind != ValueKind::BucketGradients) continue;
    action = [&state, id = operand.value, bytes = static_cast<std::size_t>(value.size.value),
              then = std::move(action)] {
      std::memset(state.data(id), 0, bytes);
      then();
    };
  }
  return action;
}

}  // namespace

const Attention& attention_of_layer(const ModelGraph& model, OperatorId op) {
  const Layer& layer = model[model[op].layer];
  for (std::uint32_t o = layer.first.value; o <= layer.last.value; ++o) {
    const auto* attention = std::get_if<Attention>(&model[OperatorId(o)].kind);
    if (attention && !attention->cross) return *attention;
  }
  check(false, "a rotation belongs to an attention");
  return std::get<Attention>(model[op].kind);
}

OperatorId dispatch_before(const ModelGraph& model, OperatorId op) {
  for (std::uint32_t d = op.value + 1; d-- > 0;) {
    if (std::holds_alternative<Dispatch>(model[OperatorId(d)].kind)) return OperatorId(d);
  }
  check(false, "experts come after a dispatch");
  return op;
}

Action make_action(const ComputeCall& call, RankState& state, cpu::Scratch& scratch) {
  return state.plan().spec.dtype == DType::Fp32 ? action<float>(call, state, scratch)
                                                : action<cpu::Bf16>(call, state, scratch);
}

}  // namespace tandem
