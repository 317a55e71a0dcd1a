// Builds task graphs by hand, and whole pipelines of stages x tensor peers x replicas with random amounts of
// work.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/task/task_graph.h"

namespace tandem::testing {

// Work that takes `seconds` on a device of SyntheticCosts and `host` on its host.
inline Compute seconds_of_work(double seconds, double host = 0) {
  Compute compute;
  compute.kernel = MemoryPass{.kind = PassKind::Copy, .elements = seconds, .bytes = Bytes(host)};
  return compute;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(MeshShape shape) {
    graph_.mesh = Mesh(std::move(shape));
    graph_.program_of.assign(graph_.mesh.ranks(), ProgramId(0));
    for (std::uint32_t r = 0; r < graph_.mesh.ranks(); ++r) graph_.device_of.push_back(r);
  }

  const Mesh& mesh() const { return graph_.mesh; }
  ProgramId add_program() {
    Program program;
    program.after_begin.push_back(0);
    return graph_.programs.push_back(std::move(program));
  }
  void assign(RankId rank, ProgramId program) { graph_.program_of[rank.value] = program; }
  void place(RankId rank, std::uint32_t device) { graph_.device_of[rank.value] = device; }

  // Returns the task's index in its program.
  std::uint32_t add(ProgramId id, Lane lane, const Work& work, const std::vector<std::uint32_t>& after = {},
                    std::uint32_t message = no_message) {
    Program& program = graph_.programs[id];
    Task task;
    task.work = intern(work);
    task.label = graph_.labels.push_back("t" + std::to_string(program.tasks.size()));
    task.lane = lane;
    task.message = message;
    program.tasks.push_back(task);
    program.after.insert(program.after.end(), after.begin(), after.end());
    program.after_begin.push_back(static_cast<std::uint32_t>(program.after.size()));
    if (message != no_message) graph_.messages = std::max(graph_.messages, message + 1);
    return static_cast<std::uint32_t>(program.tasks.size()) - 1;
  }

  TaskGraph graph() const { return graph_; }

 private:
  WorkId intern(const Work& work) {
    for (std::uint32_t w = 0; w < graph_.works.size(); ++w) {
      if (graph_.works[WorkId(w)] == work) return WorkId(w);
    }
    return graph_.works.push_back(work);
  }
  TaskGraph graph_;
};

struct PipelineShape {
  std::int64_t tp = 1, pp = 1, dp = 1;
  std::uint32_t microbatches = 4, layers = 2, buckets = 2;
  double message_bytes = 4e6, tensor_bytes = 8e6, bucket_bytes = 40e6;
  double layer_seconds = 1e-3, host = 0;
  bool overlap = true;     // bucket i leaves with the gradients of the last microbatch's layer i
  std::uint64_t seed = 1;  // varies the work of stages and layers by up to 30 percent
};

// One stage's program of a one-forward-one-backward pipeline.
class PipelineBuilder {
 public:
  explicit PipelineBuilder(const PipelineShape& shape)
      : shape_(shape),
        builder_({.tp = shape.tp, .dp = shape.dp, .pp = shape.pp, .edp = shape.tp * shape.dp}),
        random_(shape.seed) {}

  TaskGraph build() {
    for (std::uint32_t stage = 0; stage < shape_.pp; ++stage) add_stage(stage);
    for (std::uint32_t r = 0; r < builder_.mesh().ranks(); ++r) {
      builder_.assign(RankId(r), ProgramId(builder_.mesh().stage(RankId(r))));
    }
    return builder_.graph();
  }

 private:
  double work() { return shape_.layer_seconds * std::uniform_real_distribution<double>(0.7, 1.3)(random_); }

  void add_stage(std::uint32_t stage) {
    const ProgramId p = builder_.add_program();
    forward_.clear();
    backward_.clear();
    for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
      forward_.push_back(work());
      backward_.push_back(2 * work());
    }
    const auto last = static_cast<std::uint32_t>(shape_.pp) - 1;
    const std::uint32_t warm = std::min(last - stage, shape_.microbatches);
    gradients_.clear();
    std::uint32_t f = 0, b = 0;
    while (f < warm) forward(p, stage, f++);
    while (f < shape_.microbatches) {
      forward(p, stage, f++);
      backward(p, stage, b++);
    }
    while (b < shape_.microbatches) backward(p, stage, b++);
    update(p);
  }

  // A computation, and the exchange of its result among tensor peers.
  std::uint32_t block(ProgramId p, double seconds, std::vector<std::uint32_t> after) {
    const std::uint32_t compute = builder_.add(p, Lane::Compute, seconds_of_work(seconds, shape_.host), after);
    if (shape_.tp == 1) return compute;
    Collective reduce;
    reduce.kind = CollectiveKind::AllReduce;
    reduce.axis = Axis::Tensor;
    reduce.size = Bytes(shape_.tensor_bytes);
    return builder_.add(p, Lane::Tensor, reduce, {compute});
  }

  void forward(ProgramId p, std::uint32_t stage, std::uint32_t microbatch) {
    std::vector<std::uint32_t> after;
    if (stage > 0) {
      after = {builder_.add(p, Lane::ReceivePrevious,
                            Receive{Axis::Pipeline, stage - 1, Bytes(shape_.message_bytes)}, {},
                            message(stage - 1, microbatch, true))};
    }
    for (double seconds : forward_) after = {block(p, seconds, after)};
    if (stage + 1 < shape_.pp) {
      builder_.add(p, Lane::SendNext, Send{Axis::Pipeline, stage + 1, Bytes(shape_.message_bytes)}, after,
                   message(stage, microbatch, true));
    }
    forward_end_ = after;
  }

  void backward(ProgramId p, std::uint32_t stage, std::uint32_t microbatch) {
    std::vector<std::uint32_t> after = forward_end_;
    if (stage + 1 < shape_.pp) {
      after = {builder_.add(p, Lane::ReceiveNext,
                            Receive{Axis::Pipeline, stage + 1, Bytes(shape_.message_bytes)}, {},
                            message(stage, microbatch, false))};
    }
    for (double seconds : backward_) {
      after = {block(p, seconds, after)};
      if (microbatch + 1 == shape_.microbatches) gradients_.push_back(after.front());
    }
    if (stage > 0) {
      builder_.add(p, Lane::SendPrevious, Send{Axis::Pipeline, stage - 1, Bytes(shape_.message_bytes)}, after,
                   message(stage - 1, microbatch, false));
    }
  }

  void update(ProgramId p) {
    std::vector<std::uint32_t> reduced;
    if (shape_.dp > 1) {
      for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket) {
        const std::uint32_t when =
            shape_.overlap ? std::min<std::uint32_t>(bucket, static_cast<std::uint32_t>(gradients_.size()) - 1)
                           : static_cast<std::uint32_t>(gradients_.size()) - 1;
        reduced.push_back(
            builder_.add(p, Lane::Data, exchange(CollectiveKind::ReduceScatter), {gradients_[when]}));
      }
    }
    const std::uint32_t step = builder_.add(p, Lane::Compute, seconds_of_work(shape_.layer_seconds), reduced);
    if (shape_.dp > 1) builder_.add(p, Lane::Data, exchange(CollectiveKind::AllGather), {step});
  }

  Collective exchange(CollectiveKind kind) const {
    Collective collective;
    collective.kind = kind;
    collective.axis = Axis::Data;
    collective.size = Bytes(shape_.bucket_bytes);
    return collective;
  }

  // Of the boundary behind `stage`.
  std::uint32_t message(std::uint32_t stage, std::uint32_t microbatch, bool forward) const {
    return (stage * shape_.microbatches + microbatch) * 2 + (forward ? 0 : 1);
  }

  PipelineShape shape_;
  GraphBuilder builder_;
  std::mt19937_64 random_;
  std::vector<double> forward_, backward_;
  std::vector<std::uint32_t> forward_end_, gradients_;
};

inline TaskGraph pipeline_graph(const PipelineShape& shape) { return PipelineBuilder(shape).build(); }

}  // namespace tandem::testing
