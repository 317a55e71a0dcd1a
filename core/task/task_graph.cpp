// Names and keys of tasks, lanes and memory classes.
#include "core/task/task_graph.h"

#include <fmt/format.h>

namespace tandem {

std::string_view name(Lane lane) {
  switch (lane) {
    case Lane::Compute:
      return "compute";
    case Lane::Tensor:
      return "tp";
    case Lane::Context:
      return "cp";
    case Lane::Expert:
      return "ep";
    case Lane::Data:
      return "dp";
    case Lane::SendNext:
      return "pp send next";
    case Lane::SendPrevious:
      return "pp send previous";
    case Lane::ReceiveNext:
      return "pp receive next";
    case Lane::ReceivePrevious:
      return "pp receive previous";
    case Lane::Copy:
      return "copy";
    case Lane::Input:
      return "input";
    case Lane::Count:
      break;
  }
  return "?";
}

std::string_view name(BufferClass memory_class) {
  switch (memory_class) {
    case BufferClass::Weights:
      return "weights";
    case BufferClass::Gradients:
      return "gradients";
    case BufferClass::OptimizerState:
      return "optimizer state";
    case BufferClass::Activations:
      return "activations";
    case BufferClass::Temporary:
      return "temporary";
    case BufferClass::Communication:
      return "communication";
    case BufferClass::Count:
      break;
  }
  return "?";
}

namespace {
std::string_view short_name(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "fwd";
    case Phase::InputGradient:
      return "bwd";
    case Phase::WeightGradient:
      return "wgrad";
    case Phase::Recompute:
      return "recompute";
    case Phase::Update:
      return "update";
  }
  return "?";
}
}  // namespace

std::string task_key(const TaskGraph& graph, RankId rank, const Task& task) {
  std::string key = fmt::format("{}/{}", graph.labels[task.label], short_name(task.phase));
  if (task.microbatch != no_microbatch) key += fmt::format(" mb{}", task.microbatch);
  return key + fmt::format(" r{}", rank.value);
}

}  // namespace tandem
