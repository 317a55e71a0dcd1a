// What each task of a program reads and writes: the values behind the amounts, and how long each lives.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/dataflow/parameter_layout.h"
#include "core/task/task_graph.h"

namespace tandem {

using ValueId = Id<struct ValueTag>;

enum class ValueKind : std::uint8_t {
  // Of a bucket (id: index into ParameterLayout::buckets), all step long.
  Weights,    // working weights; ZeRO-3: the own part
  Gradients,  // main gradients; ZeRO-2 and 3: the own part
  MasterWeights,
  ExpAvg,
  ExpAvgSq,
  // Of a bucket, for a while.
  GatheredWeights,  // ZeRO-3: for one layer's use
  BucketGradients,  // ZeRO-2 and 3: of one microbatch, before they are reduced
  // Of a tensor (id: TensorId) and a microbatch.
  Tensor,            // in its own layout
  Whole,             // all tokens of it (sequence parallelism)
  PartialSum,        // before the reduce-scatter that makes it
  ReceivedGradient,  // from the next chunk's stage
  SummedGradient,    // where no contribution can take the sum
  // Of an operator (id: OperatorId) and a microbatch.
  State,          // attention: log-sum-exp or probabilities; router: choice and weights; dispatch: the
                  // permutation; cross entropy: maximum, sum, target logit, a row each
  Exchanged,      // what an exchange brought or a kernel made for one; `index` tells which (data_flow.cpp)
  InputGradient,  // of input `index`
  PartialInputGradient,  // all tokens of it, before its reduce-scatter
  WholeGradient,         // of the output, all tokens
  WholeInput,            // of the input, all tokens, for the weight gradient
  WeightGradient,        // before it is added to the main gradient
  Scores,                // unfused attention: gradient of the probabilities
  // Of the step.
  NormSum,  // sum of squares of the gradients
};

// What an exchange of attention or of routed tokens works on; with the step of a ring it is a value's `index`.
enum class Exchange : std::uint16_t {
  Sent,          // routed tokens in the order of their experts; rows on their way back after etp's sum
  Arrived,       // q, k, v of a share of the heads; gathered k, v; routed tokens of all ep peers
  Result,        // attention's output for a share of the heads; rows back in the order of their experts
  GradientSent,  // gradients, in the same places
  GradientArrived,
  GradientResult,
  RingKeys,          // by step: k, v that came round
  GradientRingKeys,  // the same in the backward pass
  OwnKeyGradient,    // by step: this rank's part of their gradient
  RingKeyGradient,   // by step: the sum that came round with them
};
constexpr std::uint16_t ring_steps = 1024;
constexpr std::uint16_t exchange_index(Exchange exchange, std::size_t step = 0) {
  return static_cast<std::uint16_t>(static_cast<std::size_t>(exchange) * ring_steps + step);
}

struct Value {
  ValueKind kind = ValueKind::Tensor;
  std::uint32_t id = 0;
  std::uint16_t index = 0, chunk = 0;
  std::uint32_t microbatch = no_microbatch;
  BufferClass memory_class = BufferClass::Temporary;
  Bytes size;
  bool routed = false;  // rows depend on the router's choice; `size` is that of even routing
  std::uint32_t take = whole_step, give = whole_step;  // first and last task that touches it
};

struct Operand {
  ValueId value;
  enum class Access : std::uint8_t { Read, Write, Update } access = Access::Read;
};

// Operands stand in the order that core/dataflow/README.md lists by operator, part and phase.
struct DataFlow {
  ParameterLayout parameters;
  IndexedVector<ValueId, Value> values;
  std::vector<std::vector<Operand>> operands;  // by task
  // Tasks that a task must wait for besides the program's own edges, so that nobody reads what is not there yet
  // or overwrites what is still read.
  std::vector<std::vector<std::uint32_t>> extra_after;  // by task

  std::span<const Operand> of(std::uint32_t task) const { return operands[task]; }
};

// Whether operands are known for all tasks of the plan: dropout, fp8, products in pieces round a ring
// (tp_comm_overlap) and unfused attention under context parallelism have none.
bool has_data_flow(const ModelGraph&, const Plan&);

// Of the program of one stage of a plan that has_data_flow. The model, the plan and the graph belong together.
DataFlow bind_values(const ModelGraph&, const Plan&, const TaskGraph&, std::uint32_t stage);

// Fills extra_after: every read after its write, every write after the reads of what it replaces.
void add_missing_waits(DataFlow&, const Program&);

// The program's buffers as the values need them, in place of the estimate that lowering makes for other
// implementations of the kernels.
std::vector<Buffer> exact_buffers(const DataFlow&, const Program&);

}  // namespace tandem
