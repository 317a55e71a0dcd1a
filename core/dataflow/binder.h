// Walks a program in the order of its tasks and says what each reads and writes.
#pragma once
#include <compare>
#include <map>

#include "core/dataflow/data_flow.h"
#include "core/lower/message_order.h"

namespace tandem {

class Binder {
 public:
  Binder(const ModelGraph&, const Plan&, const Shard&, const TaskGraph&, std::uint32_t stage);
  DataFlow run();

 private:
  // Values of one microbatch on one chunk are told apart from all others.
  struct Slot {
    std::uint16_t chunk = 0;
    std::uint32_t microbatch = 0;
    auto operator<=>(const Slot&) const = default;
  };
  struct Key {
    ValueKind kind;
    std::uint32_t id = 0;
    std::uint16_t index = 0;
    Slot slot;
    auto operator<=>(const Key&) const = default;
  };
  struct Names {  // of a tensor's gradient while its contributions are summed
    std::vector<ValueId> parts;
    std::vector<bool> owned;
  };

  // bind_operators.cpp
  void forward(Slot, OperatorId, Part);
  void forward_main(Slot, OperatorId, const Operator&);
  void forward_attention(Slot, OperatorId, const Attention&, Part);
  void forward_experts(Slot, OperatorId, Part);
  OperatorId dispatch_of(OperatorId) const;
  void read_routing(Slot, OperatorId);
  // bind_gradients.cpp
  void backward(Slot, OperatorId, Part);
  void backward_main(Slot, OperatorId, const Operator&);
  void backward_attention(Slot, OperatorId, const Attention&, Part);
  void backward_experts(Slot, OperatorId, Part);
  void weight_gradient(Slot, OperatorId, Part);
  void sum_gradient(Slot, TensorId);
  ValueId gradient(Slot, TensorId);
  Names contributions(Slot, TensorId);
  bool has_gradient_kernels(OperatorId) const;
  // bind_step.cpp
  void bind_step(const Task&, const Subject&);
  void bind_message(const Task&, const Subject&);
  void bind_bucket(const Task&, const Subject&);

  // Operands of the present task.
  ValueId read(ValueId);
  ValueId update(ValueId);
  ValueId make(Key, BufferClass, Bytes, bool routed = false);  // a new value, whatever the key named before
  ValueId push(ValueId, Operand::Access);
  const ValueId* find(const Key&) const;
  ValueId known(const Key&) const;

  ValueId tensor(Slot, TensorId) const;
  ValueId input_form(Slot, OperatorId, TensorId) const;  // whole tokens where a split operator reads them
  ValueId output_gradient(Slot, OperatorId);             // whole tokens where a row-split product reads it
  void make_tensor(Slot, TensorId);
  void make_input_gradient(Slot, OperatorId, std::size_t input);
  void make_exchange(Slot, OperatorId, Exchange, Bytes, std::size_t step = 0, bool routed = false);
  ValueId exchange(Slot, OperatorId, Exchange, std::size_t step = 0) const;
  ValueId own(ValueKind, OperatorId, Slot) const;
  void read_parameters(Slot, OperatorId);
  void update_gradients(Slot, OperatorId);
  ValueId weights(Slot, std::uint32_t bucket) const;
  ValueId gradients(Slot, std::uint32_t bucket);
  std::vector<std::uint32_t> buckets_of(OperatorId) const;

  const ChunkLayout& layout(Slot) const;
  bool holds(Slot, TensorId) const;  // its producer is in the slot's chunk
  bool crosses(OperatorId, TensorId) const;
  bool sums_over_ranks(OperatorId) const;
  // The slot of this stage that works on the chunk before or after; nothing when another stage does.
  std::optional<Slot> neighbour(Slot, int distance) const;
  std::size_t count(Slot, OperatorId, Part);  // how often this part ran before in the present body
  void make_static_values();
  void finish();

  const ModelGraph& model_;
  const Plan& plan_;
  const Shard& shard_;
  const TaskGraph& graph_;
  const Program& program_;
  std::uint32_t stage_;
  std::vector<ChunkLayout> layouts_;
  MessageOrder messages_;
  DataFlow flow_;
  std::map<Key, ValueId> values_;
  std::map<std::pair<Slot, std::pair<std::uint32_t, int>>, std::uint32_t> counts_;
  std::map<std::pair<Slot, std::uint32_t>, std::uint32_t> sums_;  // of a tensor's gradient, so far
  std::uint32_t task_ = 0;
  Phase phase_ = Phase::Forward;
};

}  // namespace tandem
