// Writes the backward tasks of operators: recomputation, gradients of inputs and weights, and the communication
// between.
#pragma once
#include <vector>

#include "core/lower/chunk.h"
#include "core/lower/kernels.h"
#include "core/lower/operator_writer.h"

namespace tandem {

class GradientWriter {
 public:
  GradientWriter(const ChunkContext&, const Retention&, const KeptIndex&, BodyWriter&, BackwardMode);

  // The weight-gradient body takes over what the input-gradient body kept for it.
  void continue_from(const GradientWriter& inputs);
  // Operators must be written in reverse model order.
  void write(OperatorId);
  // Hands the gradients of what arrived to the previous chunk.
  void hand_back();
  // Settles memory: what is given back and when, what lives inside the body, what stays for the weight
  // gradient.
  void finish();

 private:
  using Tasks = std::vector<std::uint32_t>;
  struct Gradient {  // of a tensor
    Tasks tasks;     // what completes it; from_neighbour: the next chunk sends it
    std::uint32_t contributions = 0;
    std::uint32_t take = no_task, last_use = no_task;
    std::uint32_t kept = no_task;      // stays for the weight gradient: index into the body's `kept`
    std::uint32_t gathered = no_task;  // whole-token form (sequence parallelism)
  };

  void recompute_before(OperatorId);
  Tasks gradient_of(TensorId);  // sums several contributions
  void contribute(TensorId, const Tasks&);
  void expect_from_neighbour(TensorId);
  void use(TensorId tensor, std::uint32_t task);  // backward reads a forward tensor
  std::uint32_t kernels(OperatorId, const std::vector<Kernel>&, Tasks deps);
  std::uint32_t collective(OperatorId, Part, Lane, CollectiveKind, Axis, Bytes, Phase, Tasks deps);
  std::uint32_t attention(OperatorId, const Attention&, Tasks deps);
  std::uint32_t dispatch(OperatorId, const Dispatch&, Tasks deps);
  std::uint32_t combine(OperatorId, const Combine&, Tasks deps);
  void input_gradient(OperatorId);
  void weight_gradient(OperatorId, Tasks deps);
  void gather_inputs(OperatorId, const Tasks& after, Tasks& weight_deps);
  Tasks whole_gradient(OperatorId, TensorId output, Tasks deps);
  void pass_on(OperatorId, Tasks done);
  bool needs_whole_gradient(const Operator&) const;
  bool is_border_output(TensorId) const;
  bool is_border_input(TensorId) const;

  const ChunkContext& context_;
  const Retention& retention_;
  const KeptIndex& kept_;
  BodyWriter& writer_;
  BackwardMode mode_;
  OperatorWriter recomputed_;
  std::vector<Gradient> gradients_;           // by tensor
  std::vector<std::uint32_t> last_use_;       // of forward tensors, by tensor
  std::vector<std::uint32_t> attention_use_;  // of attention state, by operator
  struct Remade {
    TensorId tensor;
    std::uint32_t take;
  };
  std::vector<WholeForm> gathered_inputs_, partial_sums_;
  std::vector<Remade> remade_;              // by recomputation, in this body
  std::vector<std::uint32_t> kept_remade_;  // by tensor: index into the body's `kept`, for the weight gradient
  std::vector<bool> group_done_;
};

}  // namespace tandem
