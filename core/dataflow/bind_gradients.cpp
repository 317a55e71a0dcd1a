// Operands of backward tasks, and which value holds the gradient of a tensor.
#include <algorithm>

#include "core/dataflow/binder.h"
#include "core/lower/kernels.h"
#include "core/lower/operator_writer.h"
#include "core/problem/problem.h"

namespace tandem {

bool Binder::has_gradient_kernels(OperatorId op) const {
  const Operator& o = model_[op];
  return std::holds_alternative<Attention>(o.kind) || std::holds_alternative<Dispatch>(o.kind) ||
         std::holds_alternative<Combine>(o.kind) || !input_gradient_kernels(o, shard_).empty();
}

// What consumers hand back for a tensor, latest operator first. An operator without backward kernels (a
// residual without dropout, a table added to its input) hands on its output's gradient as it is.
Binder::Names Binder::contributions(Slot slot, TensorId x) {
  Names names;
  std::vector<OperatorId> consumers = model_.consumers(x);
  std::sort(consumers.rbegin(), consumers.rend());
  consumers.erase(std::unique(consumers.begin(), consumers.end()), consumers.end());
  for (OperatorId consumer : consumers) {
    if (consumer < layout(slot).first || consumer > layout(slot).last) continue;
    const std::vector<TensorId> inputs = model_.inputs(consumer);
    for (std::uint16_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] != x) continue;
      if (has_gradient_kernels(consumer)) {
        const ValueId* made = find({ValueKind::InputGradient, consumer.value, i, slot});
        if (!made) continue;  // nothing downstream asked for it
        names.parts.push_back(*made);
        names.owned.push_back(true);
      } else if (!contributions(slot, model_.output(consumer)).parts.empty()) {
        names.parts.push_back(gradient(slot, model_.output(consumer)));
        names.owned.push_back(false);
      }
    }
  }
  const std::vector<TensorId>& outputs = layout(slot).outputs;
  if (std::find(outputs.begin(), outputs.end(), x) != outputs.end()) {
    if (const std::optional<Slot> next = neighbour(slot, 1)) {
      names.parts.push_back(gradient(*next, x));
      names.owned.push_back(false);
    } else {
      names.parts.push_back(known({ValueKind::ReceivedGradient, x.value, 0, slot}));
      names.owned.push_back(true);
    }
  }
  return names;
}

ValueId Binder::gradient(Slot slot, TensorId x) {
  const Key sum{ValueKind::SummedGradient, x.value, 0, slot};
  if (const ValueId* done = find(sum)) return *done;
  const Names names = contributions(slot, x);
  check(names.parts.size() == 1, "the gradient of " + model_[x].name + " is summed before it is read");
  values_[sum] = names.parts.front();
  return names.parts.front();
}

// The sum goes into a contribution that nobody else reads; without one, into a value of its own.
void Binder::sum_gradient(Slot slot, TensorId x) {
  const std::uint32_t done = sums_[{slot, x.value}]++;
  Names names = contributions(slot, x);
  const auto owned = std::find(names.owned.begin(), names.owned.end(), true);
  const Key sum{ValueKind::SummedGradient, x.value, 0, slot};
  if (owned != names.owned.end())
    std::swap(names.parts.front(), names.parts[static_cast<std::size_t>(owned - names.owned.begin())]);
  if (names.parts.size() == 1) values_[sum] = names.parts.front();
  if (done + 1 >= names.parts.size()) return;  // an input that is chosen by, not computed with, has no gradient
  if (owned == names.owned.end() && done == 0) {
    make(sum, BufferClass::Temporary, shard_.tensor_bytes(model_, model_[x]));
    read(names.parts[0]);
    read(names.parts[1]);
    return;
  }
  const ValueId total = owned == names.owned.end() ? known(sum) : names.parts.front();
  update(total);
  read(names.parts[done + 1]);
  if (done + 2 == names.parts.size()) values_[sum] = total;
}

void Binder::backward(Slot slot, OperatorId op, Part part) {
  const Operator& o = model_[op];
  const TensorId y = model_.output(op);
  if (part == Part::GradientSum) return sum_gradient(slot, y);
  if (part == Part::InputAllGather) {
    const TensorId x = model_.inputs(op).front();
    read(tensor(slot, x));
    make({ValueKind::WholeInput, op.value, 0, slot}, BufferClass::Communication,
         shard_.gathered_bytes(model_, model_[x]));
    return;
  }
  if (phase_ == Phase::WeightGradient) return weight_gradient(slot, op, part);
  if (std::holds_alternative<Dispatch>(o.kind) || std::holds_alternative<Combine>(o.kind))
    return backward_experts(slot, op, part);
  switch (part) {
    case Part::GradientAllGather:
      read(gradient(slot, y));
      make({ValueKind::WholeGradient, op.value, 0, slot}, BufferClass::Communication,
           shard_.gathered_bytes(model_, model_[y]));
      return;
    case Part::GradientAllReduce:
      update(own(ValueKind::InputGradient, op, slot));
      return;
    case Part::GradientReduceScatter:
      update(own(ValueKind::PartialInputGradient, op, slot));
      return make_input_gradient(slot, op, 0);
    case Part::Choose: {
      // From the gradient of the weights to that of the scores.
      read(gradient(slot, y));
      read(own(ValueKind::State, op, slot));
      make_exchange(slot, op, Exchange::GradientResult, shard_.tensor_bytes(model_, model_[y]));
      return;
    }
    default:
      break;
  }
  if (const auto* attention = std::get_if<Attention>(&o.kind))
    return backward_attention(slot, op, *attention, part);
  check(part == Part::Main, "a backward part that has operands");
  backward_main(slot, op, o);
}

void Binder::backward_main(Slot slot, OperatorId op, const Operator& o) {
  const std::vector<TensorId> inputs = model_.inputs(op);
  if (std::holds_alternative<CrossEntropy>(o.kind)) {
    // The logits turn into their gradient where they are.
    const ValueId logits = update(tensor(slot, inputs.front()));
    read(own(ValueKind::State, op, slot));
    values_[{ValueKind::InputGradient, op.value, 0, slot}] = logits;
    return;
  }
  read(std::holds_alternative<Router>(o.kind) ? exchange(slot, op, Exchange::GradientResult)
                                              : output_gradient(slot, op));
  if (!std::holds_alternative<Linear>(o.kind) && !std::holds_alternative<ExpertLinear>(o.kind) &&
      !std::holds_alternative<Router>(o.kind) && !std::holds_alternative<Rotary>(o.kind)) {
    for (TensorId x : inputs) read(tensor(slot, x));
  }
  read_routing(slot, op);
  const bool scatters = shard_.sequence_parallel() && crosses(op, inputs.front());
  if (scatters) {
    make({ValueKind::PartialInputGradient, op.value, 0, slot}, BufferClass::Communication,
         shard_.gathered_bytes(model_, model_[inputs.front()]));
  } else {
    for (std::size_t i = 0; i < inputs.size(); ++i) make_input_gradient(slot, op, i);
  }
  read_parameters(slot, op);
  if (std::holds_alternative<Normalization>(o.kind)) update_gradients(slot, op);
}

void Binder::backward_attention(Slot slot, OperatorId op, const Attention& attention, Part part) {
  const Operator& o = model_[op];
  const TensorId y = model_.output(op);
  const Bytes kv = key_value_bytes(attention, shard_);
  const auto inputs = [&] {
    for (TensorId x : model_.inputs(op)) read(tensor(slot, x));
  };
  const auto make_gradients = [&] {
    for (std::size_t i = 0; i < model_.inputs(op).size(); ++i) make_input_gradient(slot, op, i);
  };
  // Position biases and their gradient.
  const auto biases = [&] {
    read_parameters(slot, op);
    update_gradients(slot, op);
  };
  const auto update_input_gradients = [&] {
    for (std::uint16_t i = 0; i < model_.inputs(op).size(); ++i)
      update(known({ValueKind::InputGradient, op.value, i, slot}));
  };
  switch (part) {
    case Part::ValueGradient:
      read(gradient(slot, y));
      read(own(ValueKind::State, op, slot));
      return make_gradients();
    case Part::ProbabilityGradient:
      read(gradient(slot, y));
      inputs();
      make({ValueKind::Scores, op.value, 0, slot}, BufferClass::Temporary,
           flow_.values[own(ValueKind::State, op, slot)].size);
      return;
    case Part::Softmax:
      update(own(ValueKind::Scores, op, slot));
      read(own(ValueKind::State, op, slot));
      return biases();
    case Part::QueryGradient:
    case Part::KeyGradient:
      read(own(ValueKind::Scores, op, slot));
      inputs();
      return update_input_gradients();
    case Part::GradientAllToAllOut:
      read(gradient(slot, y));
      return make_exchange(slot, op, Exchange::GradientArrived,
                           attention_output_bytes(attention, shard_, o.sequence));
    case Part::GradientAllToAllQkv:
      read(exchange(slot, op, Exchange::GradientResult));
      return make_gradients();
    case Part::GradientAllGatherKv:
      inputs();
      return make_exchange(slot, op, Exchange::GradientArrived, kv * static_cast<double>(shard_.cp()));
    case Part::GradientReduceScatterKv:
      update(exchange(slot, op, Exchange::GradientResult));
      return update_input_gradients();
    case Part::GradientRingKv: {
      const std::size_t step = count(slot, op, part);
      if (step == 0)
        inputs();
      else
        read(exchange(slot, op, Exchange::GradientRingKeys, step));
      return make_exchange(slot, op, Exchange::GradientRingKeys, kv, step + 1);
    }
    case Part::GradientRingDkv: {
      // What came round with these keys is added to this rank's part, and goes on with them.
      const std::size_t step = count(slot, op, part);
      update(exchange(slot, op, Exchange::OwnKeyGradient, step));
      if (step > 0) read(exchange(slot, op, Exchange::RingKeyGradient, step));
      make_exchange(slot, op, Exchange::RingKeyGradient, kv, step + 1);
      if (step + 1 == static_cast<std::size_t>(shard_.cp())) update_input_gradients();
      return;
    }
    default:
      break;
  }
  check(part == Part::Main, "a part of attention's backward pass");
  const bool exchanges = shard_.cp() > 1;
  const ContextCommunication way = plan_.spec.cp_comm_type;
  if (exchanges && way == ContextCommunication::AllToAll) {
    read(exchange(slot, op, Exchange::GradientArrived));
    read(exchange(slot, op, Exchange::Arrived));
    read(exchange(slot, op, Exchange::Result));
    read(own(ValueKind::State, op, slot));
    return make_exchange(slot, op, Exchange::GradientResult,
                         query_key_value_bytes(attention, shard_, o.sequence));
  }
  read(gradient(slot, y));
  inputs();
  read(tensor(slot, y));
  read(own(ValueKind::State, op, slot));
  if (exchanges && way == ContextCommunication::AllGather) {
    read(exchange(slot, op, Exchange::GradientArrived));
    make_gradients();
    make_exchange(slot, op, Exchange::GradientResult, kv * static_cast<double>(shard_.cp()));
    return biases();
  }
  if (!exchanges) {
    make_gradients();
    return biases();
  }
  const std::size_t step = count(slot, op, part);
  if (step > 0) read(exchange(slot, op, Exchange::GradientRingKeys, step));
  if (step == 0)
    make_gradients();
  else
    update_input_gradients();
  make_exchange(slot, op, Exchange::OwnKeyGradient, kv, step);
  biases();
}

void Binder::backward_experts(Slot slot, OperatorId op, Part part) {
  const Operator& o = model_[op];
  const TensorId y = model_.output(op);
  const std::vector<TensorId> x = model_.inputs(op);
  if (const auto* dispatch = std::get_if<Dispatch>(&o.kind)) {
    const Bytes sent = dispatch_bytes(o, shard_, dispatch->width, dispatch->top_k);
    if (part == Part::GradientReduceScatter) {
      update(gradient(slot, y));
      read(own(ValueKind::State, op, slot));
      return make_exchange(slot, op, Exchange::GradientSent, sent, 0, true);
    }
    if (part == Part::GradientAllToAll) {
      read(shard_.etp() > 1 ? exchange(slot, op, Exchange::GradientSent) : gradient(slot, y));
      read(own(ValueKind::State, op, slot));
      return make_exchange(slot, op, Exchange::GradientArrived, sent);
    }
    check(part == Part::Main, "a part of a dispatch's backward pass");
    read(shard_.ep() > 1    ? exchange(slot, op, Exchange::GradientArrived)
         : shard_.etp() > 1 ? exchange(slot, op, Exchange::GradientSent)
                            : gradient(slot, y));
    read(own(ValueKind::State, op, slot));
    return make_input_gradient(slot, op, 0);
  }
  const auto& combine = std::get<Combine>(o.kind);
  const Bytes sent = dispatch_bytes(o, shard_, combine.width, combine.top_k);
  const OperatorId dispatch = dispatch_of(op);
  if (part == Part::Main) {
    read(gradient(slot, y));
    read(shard_.ep() > 1    ? exchange(slot, op, Exchange::Result)
         : shard_.etp() > 1 ? exchange(slot, op, Exchange::Sent)
                            : tensor(slot, x[0]));
    read(own(ValueKind::State, model_[x[1]].producer, slot));
    read(own(ValueKind::State, dispatch, slot));
    if (shard_.ep() > 1 || shard_.etp() > 1)
      make_exchange(slot, op, Exchange::GradientSent, sent);
    else
      make_input_gradient(slot, op, 0);
    return make_input_gradient(slot, op, 1);
  }
  if (part == Part::GradientAllToAll) {
    read(exchange(slot, op, Exchange::GradientSent));
    read(own(ValueKind::State, dispatch, slot));
    if (shard_.etp() > 1) return make_exchange(slot, op, Exchange::GradientArrived, sent, 0, true);
    return make_input_gradient(slot, op, 0);
  }
  check(part == Part::GradientAllGather, "a part of a combine's backward pass");
  read(exchange(slot, op, shard_.ep() > 1 ? Exchange::GradientArrived : Exchange::GradientSent));
  read(own(ValueKind::State, dispatch, slot));
  make_input_gradient(slot, op, 0);
}

void Binder::weight_gradient(Slot slot, OperatorId op, Part part) {
  const Operator& o = model_[op];
  const auto make_early = [&] {
    const std::int64_t weights = local_count(model_, shard_, op, 0);
    make({ValueKind::WeightGradient, op.value, 0, slot}, BufferClass::Gradients,
         Bytes(static_cast<double>(weights) * parameter_bytes(plan_.spec)));
  };
  if (part == Part::Accumulate) {
    read(own(ValueKind::WeightGradient, op, slot));
    return update_gradients(slot, op);
  }
  read(std::holds_alternative<Router>(o.kind) ? exchange(slot, op, Exchange::GradientResult)
                                              : output_gradient(slot, op));
  if (part == Part::Bias) return update_gradients(slot, op);
  check(part == Part::Main, "a part of a weight gradient");
  if (!std::holds_alternative<Embedding>(o.kind)) {
    for (TensorId x : model_.inputs(op)) {
      const bool whole = shard_.sequence_parallel() && crosses(op, x);
      read(whole ? own(ValueKind::WholeInput, op, slot) : tensor(slot, x));
    }
    read_routing(slot, op);
    if (!plan_.spec.gradient_accumulation_fusion) return make_early();
  }
  update_gradients(slot, op);
}

}  // namespace tandem
