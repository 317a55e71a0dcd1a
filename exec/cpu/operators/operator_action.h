// What the actions of all operators share: the task's operands and the operator's sizes on this rank.
#pragma once
#include "core/problem/problem.h"
#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/matrix.h"
#include "exec/cpu/operators/actions.h"

namespace tandem {

// Copied into each action; everything that it points to outlives the run.
template <class T>
struct Site {
  ComputeCall call;
  RankState* state = nullptr;
  cpu::Scratch* scratch = nullptr;

  const ModelGraph& model() const { return state->model(); }
  const Shard& shard() const { return state->shard(); }
  const Operator& op() const { return model()[call.subject.op]; }
  ValueId value(std::size_t operand) const {
    check(operand < call.operands.size(), "a task has the operand that its action reads");
    return call.operands[operand].value;
  }
  T* data(std::size_t operand) const { return as<T>(operand); }
  template <class U>
  U* as(std::size_t operand) const {
    return reinterpret_cast<U*>(state->data(value(operand)));
  }
  const T* weight(std::uint32_t parameter, std::size_t bucket_operand) const {
    return state->weight<T>(call.subject.op, parameter, value(bucket_operand));
  }
  float* gradient(std::uint32_t parameter, std::size_t bucket_operand) const {
    return state->gradient(call.subject.op, parameter, value(bucket_operand));
  }
  bool has_parameter(std::string_view name) const {
    for (const Parameter& p : op().parameters) {
      if (p.name == name) return true;
    }
    return false;
  }
  std::int64_t elements(std::size_t operand) const {
    return static_cast<std::int64_t>(state->flow().values[value(operand)].size.value) /
           static_cast<std::int64_t>(sizeof(T));
  }

  std::int64_t rows() const { return shard().kernel_rows(op()); }
  // Under sequence parallelism a rank's own tokens are the rows from here on of all tokens.
  std::int64_t own_rows() const { return shard().sequence_rows(op()); }
  std::int64_t own_begin() const {
    return shard().sequence_parallel() ? state->place(Axis::Tensor) * own_rows() : 0;
  }
  bool splits_tokens() const { return op().split == Split::None || op().split == Split::Expert; }
  const Batch& batch() const { return state->batch(call.microbatch); }
  bool forward() const { return call.phase == Phase::Forward || call.phase == Phase::Recompute; }
};

// One function a file; each gives the action of a task of its operators.
template <class T>
Action product_action(const Site<T>&);
// Of an operator y = x W^T with W [out, in]: its own part of the backward pass.
template <class T>
Action weight_gradient_action(const Site<T>&, std::int64_t rows, std::int64_t out, std::int64_t in);
template <class T>
Action elementwise_action(const Site<T>&);
template <class T>
Action embedding_action(const Site<T>&);
template <class T>
Action attention_action(const Site<T>&);
template <class T>
Action expert_action(const Site<T>&);
template <class T>
Action loss_action(const Site<T>&);
template <class T>
Action step_action(const Site<T>&);

// The attention that a rotation or a product of the same layer works for.
const Attention& attention_of_layer(const ModelGraph&, OperatorId);
// The dispatch that sent the rows an expert operator works on.
OperatorId dispatch_before(const ModelGraph&, OperatorId);

// Products of experts: all groups of rows of one source rank, expert by expert.
template <class F>
void for_sources(const Routing& routing, std::int64_t experts, const F& f) {
  std::vector<cpu::RowGroup> groups(static_cast<std::size_t>(experts));
  std::int64_t begin = 0;
  for (std::size_t first = 0; first < routing.gathered.size(); first += groups.size()) {
    for (std::size_t e = 0; e < groups.size(); ++e) {
      groups[e] = {begin, routing.gathered[first + e]};
      begin += groups[e].rows;
    }
    f(std::span<const cpu::RowGroup>(groups));
  }
}

}  // namespace tandem
