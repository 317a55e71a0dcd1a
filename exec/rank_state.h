// What one rank holds while it runs: where its values lie, its parameters, its batches, its losses.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "core/dataflow/arena.h"
#include "core/dataflow/data_flow.h"
#include "core/lower/shard.h"
#include "core/model/model_spec.h"
#include "exec/training/data_loader.h"
#include "exec/training/learning_rate.h"
#include "exec/training/parameter_shard.h"

namespace tandem {

// Everything that all ranks of a run share and nobody changes.
struct RunSetup {
  const ModelSpec& spec;
  const ModelGraph& model;
  const Plan& plan;
  const TaskGraph& graph;
  const TokenSource& tokens;
  OptimizerOptions optimizer;
  std::uint64_t seed = 0;
  bool balance_experts = false;  // rows go to all experts in turn: for measurements
};

// Which rows go where in one mixture-of-experts layer and microbatch. Experts are counted in their order over
// the ep ranks.
struct Routing {
  std::vector<std::int64_t> rows_of_expert;  // of this rank's own routed rows, by expert
  std::vector<std::int32_t> arriving;        // [ep source][own experts]: rows that come over ep
  std::vector<std::int32_t> gathered;        // [etp source][ep source][own experts]: what the experts see
  std::int64_t arriving_rows = 0, rows = 0;  // sums of the two
};

// What an exchange needs memory beside the arena for; Rows: as many as routing brings.
enum class Staging : std::uint8_t { Out, In, Rows };

class RankState {
 public:
  RankState(const RunSetup&, RankId);

  const RunSetup& setup() const { return setup_; }
  const ModelGraph& model() const { return setup_.model; }
  const Plan& plan() const { return setup_.plan; }
  const Shard& shard() const { return shard_; }
  const DataFlow& flow() const { return flow_; }
  const Program& program() const { return program_; }
  RankId rank() const { return rank_; }
  std::uint32_t place(Axis axis) const { return plan().mesh.place(rank_, axis).place; }
  std::size_t arena_bytes() const { return arena_.size; }
  void set_memory(std::byte* memory) { memory_ = memory; }

  // A value's place. Routed values whose rows outgrow even routing lie outside the arena.
  std::byte* data(ValueId) const;
  std::byte* routed(ValueId, std::size_t bytes);
  std::size_t overflow_bytes() const;  // most that lay outside so far
  // Where an exchange lays rows out anew: the same place for all exchanges of a lane that ask for as much,
  // since they follow one another. Asked for before the first step.
  std::vector<std::byte>& staging(Lane, Staging, std::size_t bytes);

  // One parameter of an operator in working precision, and its main gradient; `bucket` is the operand of the
  // task that reads or writes it. Null where the operator has none.
  template <class T>
  const T* weight(OperatorId op, std::uint32_t parameter, ValueId bucket) const {
    const std::optional<std::int64_t> offset = parameter_offset(op, parameter);
    return offset ? reinterpret_cast<const T*>(data(bucket)) + *offset : nullptr;
  }
  float* gradient(OperatorId op, std::uint32_t parameter, ValueId bucket) const {
    const std::optional<std::int64_t> offset = parameter_offset(op, parameter);
    return offset ? reinterpret_cast<float*>(data(bucket)) + *offset : nullptr;
  }
  std::optional<std::int64_t> parameter_offset(OperatorId op, std::uint32_t parameter) const {
    const auto& offsets = offsets_[op.value];
    return parameter < offsets.size() ? offsets[parameter] : std::nullopt;
  }

  // The elements of a bucket whose optimizer state is this rank's.
  IndexRange own_range(const BucketLayout&) const;
  // Places of a bucket with their shards, in the order of BucketLayout::places.
  const std::vector<ParameterShard>& shards(std::size_t bucket) const { return shards_[bucket]; }
  ValueId bucket_value(ValueKind, std::size_t bucket) const;
  bool has_bucket_value(ValueKind, std::size_t bucket) const;
  // Main gradients of an element range of a bucket, wherever they start.
  float* gradients(std::size_t bucket, std::int64_t begin) const;

  // Fills weights and optimizer state as at the start of training.
  void initialize_parameters();

  const Batch& batch(std::uint32_t microbatch) { return loader_.wait(microbatch); }
  DataLoader& loader() { return loader_; }
  const BatchShape& batch_shape() const { return batch_shape_; }
  // Positions of the tokens that place `context_place` of the context group holds of one sequence.
  const std::vector<std::int32_t>& positions(Sequence, std::uint32_t context_place) const;
  double loss_scale() const { return loss_scale_; }  // 1 / targets of the whole global batch

  Routing& routing(OperatorId dispatch, std::uint32_t microbatch) {
    return routings_[{dispatch.value, microbatch}];
  }

  // Of the step in progress.
  std::int64_t step = 0;
  double loss = 0;  // this rank's part of the mean over the global batch
  double gradient_norm = 0;

 private:
  void find_parameters();
  void initialize_parameter(std::size_t bucket, std::size_t place);
  void prepare_routing();  // places for all, so that no task changes the map
  const RunSetup& setup_;
  RankId rank_;
  Shard shard_;
  std::uint32_t stage_;
  const Program& program_;
  DataFlow flow_;
  ArenaPlan arena_;
  std::byte* memory_ = nullptr;
  std::map<ValueId, std::vector<std::byte>> overflow_;
  std::map<std::tuple<Lane, Staging, std::size_t>, std::vector<std::byte>> staging_;
  std::vector<std::vector<ParameterShard>> shards_;
  std::vector<std::vector<std::optional<std::int64_t>>> offsets_;  // by operator and parameter, in its bucket
  BatchShape batch_shape_;
  std::vector<std::vector<std::int32_t>> positions_[2];
  double loss_scale_ = 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Routing> routings_;
  DataLoader loader_;
};

}  // namespace tandem
