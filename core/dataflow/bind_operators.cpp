// Operands of forward and recomputation tasks.
#include "core/dataflow/binder.h"
#include "core/lower/kernels.h"
#include "core/lower/operator_writer.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

double rows_bytes(std::int64_t rows, double a_row) { return static_cast<double>(rows) * a_row; }

}  // namespace

void Binder::forward(Slot slot, OperatorId op, Part part) {
  const Operator& o = model_[op];
  const TensorId y = model_.output(op);
  if (std::holds_alternative<Dispatch>(o.kind) || std::holds_alternative<Combine>(o.kind))
    return forward_experts(slot, op, part);
  switch (part) {
    case Part::AllGather:  // of the operator's output, for a split reader
      read(tensor(slot, y));
      make({ValueKind::Whole, y.value, 0, slot}, BufferClass::Communication,
           shard_.gathered_bytes(model_, model_[y]));
      return;
    case Part::ReduceScatter:
      update(known({ValueKind::PartialSum, y.value, 0, slot}));
      return make_tensor(slot, y);
    case Part::AllReduce:
      update(tensor(slot, y));
      return;
    case Part::Maximum:
    case Part::Target:
    case Part::ExponentialSum:
      update(own(ValueKind::State, op, slot));
      return;
    case Part::Choose: {
      const auto& router = std::get<Router>(o.kind);
      read(tensor(slot, y));
      make({ValueKind::State, op.value, 0, slot}, BufferClass::Activations,
           Bytes(rows_bytes(shard_.kernel_rows(o), 8.0 * static_cast<double>(router.top_k))));
      return;
    }
    default:
      break;
  }
  if (const auto* attention = std::get_if<Attention>(&o.kind))
    return forward_attention(slot, op, *attention, part);
  check(part == Part::Main, "a forward part that has operands");
  forward_main(slot, op, o);
}

void Binder::forward_main(Slot slot, OperatorId op, const Operator& o) {
  const TensorId y = model_.output(op);
  for (TensorId x : model_.inputs(op)) read(input_form(slot, op, x));
  read_routing(slot, op);
  if (std::holds_alternative<CrossEntropy>(o.kind)) {
    make({ValueKind::State, op.value, 0, slot}, BufferClass::Activations,
         Bytes(rows_bytes(shard_.kernel_rows(o), 12)));
  } else if (sums_over_ranks(op) && shard_.sequence_parallel()) {
    make({ValueKind::PartialSum, y.value, 0, slot}, BufferClass::Communication,
         shard_.gathered_bytes(model_, model_[y]));
  } else {
    make_tensor(slot, y);
  }
  read_parameters(slot, op);
}

void Binder::forward_attention(Slot slot, OperatorId op, const Attention& attention, Part part) {
  const Operator& o = model_[op];
  const TensorId y = model_.output(op);
  const std::vector<AttentionBlock> blocks = attention_blocks(attention, shard_, o.sequence);
  const Bytes state = attention_state_bytes(attention, blocks.front(), shard_);
  const auto inputs = [&] {
    for (TensorId x : model_.inputs(op)) read(tensor(slot, x));
  };
  const auto make_state = [&] {
    make({ValueKind::State, op.value, 0, slot}, BufferClass::Activations, state);
    read_parameters(slot, op);  // position biases
  };
  switch (part) {
    case Part::Scores:
      inputs();
      return make_state();
    case Part::Softmax:
      update(own(ValueKind::State, op, slot));
      return;
    case Part::Context:
      inputs();
      read(own(ValueKind::State, op, slot));
      return make_tensor(slot, y);
    case Part::AllToAllQkv:
      inputs();
      return make_exchange(slot, op, Exchange::Arrived, query_key_value_bytes(attention, shard_, o.sequence));
    case Part::AllToAllOut:
      read(exchange(slot, op, Exchange::Result));
      return make_tensor(slot, y);
    case Part::AllGatherKv:
      inputs();
      return make_exchange(slot, op, Exchange::Arrived,
                           key_value_bytes(attention, shard_) * static_cast<double>(shard_.cp()));
    case Part::RingKv: {
      const std::size_t step = count(slot, op, part);
      if (step == 0)
        inputs();
      else
        read(exchange(slot, op, Exchange::RingKeys, step));
      return make_exchange(slot, op, Exchange::RingKeys, key_value_bytes(attention, shard_), step + 1);
    }
    default:
      break;
  }
  check(part == Part::Main, "a part of attention");
  if (shard_.cp() > 1 && plan_.spec.cp_comm_type == ContextCommunication::AllToAll) {
    read(exchange(slot, op, Exchange::Arrived));
    make_exchange(slot, op, Exchange::Result, attention_output_bytes(attention, shard_, o.sequence));
    return make_state();
  }
  const std::size_t block = count(slot, op, part) % blocks.size();
  inputs();
  if (blocks.size() > 1 && block > 0) {
    read(exchange(slot, op, Exchange::RingKeys, block));
    update(tensor(slot, y));
    update(own(ValueKind::State, op, slot));
    return read_parameters(slot, op);
  }
  if (shard_.cp() > 1 && plan_.spec.cp_comm_type == ContextCommunication::AllGather)
    read(exchange(slot, op, Exchange::Arrived));
  make_tensor(slot, y);
  make_state();
}

// Routed tokens: permuted by expert, sent over ep, gathered over etp; and the way back.
void Binder::forward_experts(Slot slot, OperatorId op, Part part) {
  const Operator& o = model_[op];
  const TensorId y = model_.output(op);
  const std::vector<TensorId> x = model_.inputs(op);
  if (const auto* dispatch = std::get_if<Dispatch>(&o.kind)) {
    const Bytes sent = dispatch_bytes(o, shard_, dispatch->width, dispatch->top_k);
    const OperatorId router = model_[x[1]].producer;
    if (part == Part::Main) {
      read(tensor(slot, x[0]));
      read(own(ValueKind::State, router, slot));
      make({ValueKind::State, op.value, 0, slot}, BufferClass::Activations,
           Bytes(rows_bytes(shard_.sequence_rows(o), 4.0 * static_cast<double>(dispatch->top_k))));
      if (shard_.ep() > 1 || shard_.etp() > 1) return make_exchange(slot, op, Exchange::Sent, sent);
      return make_tensor(slot, y);
    }
    if (part == Part::AllToAll) {
      read(exchange(slot, op, Exchange::Sent));
      update(own(ValueKind::State, op, slot));
      if (shard_.etp() > 1) return make_exchange(slot, op, Exchange::Arrived, sent, 0, true);
      return make_tensor(slot, y);
    }
    check(part == Part::AllGather, "a part of a dispatch");
    read(exchange(slot, op, shard_.ep() > 1 ? Exchange::Arrived : Exchange::Sent));
    update(own(ValueKind::State, op, slot));
    return make_tensor(slot, y);
  }
  const auto& combine = std::get<Combine>(o.kind);
  const Bytes sent = dispatch_bytes(o, shard_, combine.width, combine.top_k);
  const OperatorId router = model_[x[1]].producer;
  if (part == Part::ReduceScatter) {
    update(tensor(slot, x[0]));
    return make_exchange(slot, op, Exchange::Sent, sent, 0, true);
  }
  if (part == Part::AllToAll) {
    read(shard_.etp() > 1 ? exchange(slot, op, Exchange::Sent) : tensor(slot, x[0]));
    return make_exchange(slot, op, Exchange::Result, sent);
  }
  check(part == Part::Main, "a part of a combine");
  read(shard_.ep() > 1    ? exchange(slot, op, Exchange::Result)
       : shard_.etp() > 1 ? exchange(slot, op, Exchange::Sent)
                          : tensor(slot, x[0]));
  read(own(ValueKind::State, router, slot));
  read(own(ValueKind::State, dispatch_of(op), slot));
  make_tensor(slot, y);
}

OperatorId Binder::dispatch_of(OperatorId op) const {
  for (std::uint32_t d = op.value; d-- > 0;) {
    if (std::holds_alternative<Dispatch>(model_[OperatorId(d)].kind)) return OperatorId(d);
  }
  check(false, "experts come after a dispatch");
  return {};
}

// How many rows each expert has is known to the dispatch.
void Binder::read_routing(Slot slot, OperatorId op) {
  const Operator& o = model_[op];
  if (std::holds_alternative<ExpertLinear>(o.kind) || std::holds_alternative<ExpertActivation>(o.kind))
    read(own(ValueKind::State, dispatch_of(op), slot));
}

}  // namespace tandem
