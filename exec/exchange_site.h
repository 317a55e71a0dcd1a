// What the exchanges of one task share: its operands, its group and the element type.
#pragma once
#include <cstring>

#include "core/problem/problem.h"
#include "exec/exchanges.h"

namespace tandem {

// Copied into each step; everything that it points to outlives the run.
struct ExchangeSite {
  ComputeCall call;
  const Work* work = nullptr;
  RankState* state = nullptr;
  ExchangeOptions options;

  const Operator& op() const { return state->model()[call.subject.op]; }
  const Collective& collective() const { return std::get<Collective>(*work); }
  std::byte* data(std::size_t operand) const { return state->data(call.operands[operand].value); }
  std::size_t bytes(std::size_t operand) const {
    return static_cast<std::size_t>(state->flow().values[call.operands[operand].value].size.value);
  }
  bool half() const { return state->plan().spec.dtype != DType::Fp32; }
  ElementType type() const { return half() ? ElementType::Bf16 : ElementType::Float; }
  std::size_t element() const { return size_of(type()); }

  Members members() const { return members(collective().axis); }
  Members members(Axis axis) const {
    const GroupPlace place = state->plan().mesh.place(state->rank(), axis);
    Members members;
    for (RankId rank : state->plan().mesh.members(axis, place.group)) members.ranks.push_back(rank.value);
    members.place = place.place;
    members.ranks_per_node = options.ranks_per_node;
    members.tag = static_cast<std::uint32_t>(axis);
    return members;
  }
  Lane lane() const { return state->program().tasks[call.task].lane; }
  std::byte* outgoing(std::size_t bytes) const { return state->staging(lane(), Staging::Out, bytes).data(); }
  std::byte* incoming(std::size_t bytes) const { return state->staging(lane(), Staging::In, bytes).data(); }
  // For rows whose number is known late: of any size.
  std::vector<std::byte>& rows_laid_out() const { return state->staging(lane(), Staging::Rows, 0); }
  // Of activations or of gradients.
  CollectiveCall collective_call(ElementType type, std::byte* data, std::size_t elements,
                                 std::byte* result = nullptr) const {
    CollectiveCall call;
    call.kind = collective().kind;
    call.algorithm = collective().algorithm == Algorithm::Auto ? options.algorithm : collective().algorithm;
    call.members = members();
    call.type = type;
    call.data = data;
    call.result = result;
    call.elements = elements;
    return call;
  }
};

// One function a file.
std::vector<ExchangeStep> tensor_exchange(const ExchangeSite&);     // tensor and sequence parallelism
std::vector<ExchangeStep> attention_exchange(const ExchangeSite&);  // context parallelism
std::vector<ExchangeStep> expert_exchange(const ExchangeSite&);     // expert parallelism
std::vector<ExchangeStep> parameter_exchange(const ExchangeSite&);  // gradients and parameters
std::vector<ExchangeStep> message(const ExchangeSite&, std::uint32_t number);  // between stages

// A block of rows at `stride`, copied to or from where rows follow one another; sizes in bytes.
inline void copy_rows(std::size_t rows, std::size_t width, const std::byte* from, std::size_t from_stride,
                      std::byte* to, std::size_t to_stride) {
  for (std::size_t r = 0; r < rows; ++r) std::memcpy(to + r * to_stride, from + r * from_stride, width);
}

}  // namespace tandem
