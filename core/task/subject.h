// What a task is about, as types: the operator and the part of it, or the bucket; the label says the same to
// people.
#pragma once
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/model/operator.h"

namespace tandem {

// The parts into which lowering cuts an operator or a step's end. With the phase, a part says exactly what is
// computed or exchanged; core/dataflow says on which values.
enum class Part : std::uint8_t {
  None,  // labels of buffers
  // Kernels of an operator.
  Main,
  Cast,
  Choose,  // routers: the choice after the scores
  Scores,
  Softmax,
  Dropout,
  Context,
  ValueGradient,
  ProbabilityGradient,
  QueryGradient,
  KeyGradient,
  Bias,
  Accumulate,
  Sum,          // of pieces that came round a ring
  GradientSum,  // of several contributions to a tensor's gradient
  // Tensor parallelism.
  AllGather,
  AllReduce,
  ReduceScatter,
  RingGather,
  RingScatter,
  GradientAllGather,
  GradientAllReduce,
  GradientReduceScatter,
  InputAllGather,
  // Cross entropy over a split vocabulary.
  Maximum,
  Target,
  ExponentialSum,
  // Context parallelism.
  AllToAllQkv,
  AllToAllOut,
  AllGatherKv,
  RingKv,
  GradientAllToAllOut,
  GradientAllToAllQkv,
  GradientAllGatherKv,
  GradientReduceScatterKv,
  GradientRingKv,
  GradientRingDkv,
  // Expert parallelism.
  AllToAll,
  GradientAllToAll,
  // A bucket of parameters.
  BucketAllReduce,
  BucketReduceScatter,
  BucketAllGather,
  // The step.
  Host,
  Input,
  ZeroGradients,
  MirrorAllReduce,
  EmbeddingAllReduce,
  ReplicatedAllReduce,
  GradientNorm,
  GradientNormAllReduce,
  Optimizer,
  ActivationSend,
  ActivationReceive,
  GradientSend,
  GradientReceive,
  Count
};
// As labels spell it after the operator's name: "all_gather", "" for Main.
std::string_view name(Part);

struct Subject {
  Part part = Part::None;
  OperatorId op{};                         // of operators' parts
  std::uint32_t position = 0, bucket = 0;  // of buckets: place in the pipeline, number in the chunk
  bool operator==(const Subject&) const = default;
};

}  // namespace tandem
