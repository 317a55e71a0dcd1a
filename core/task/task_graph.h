// The tasks of one training step: programs shared by equal ranks, lanes in order, edges inside a program.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/plan/mesh.h"
#include "core/task/subject.h"
#include "core/task/work.h"
#include "core/units/id.h"

namespace tandem {

using ProgramId = Id<struct ProgramTag>;
using WorkId = Id<struct WorkTag>;
using LabelId = Id<struct LabelTag>;

// In-order queues of one device. Collectives of one axis always use one lane, so that members meet them in one
// order.
enum class Lane : std::uint8_t {
  Compute,
  Tensor,
  Context,
  Expert,
  Data,
  SendNext,
  SendPrevious,
  ReceiveNext,
  ReceivePrevious,
  Copy,
  Input,
  Count
};
constexpr std::size_t lane_count = static_cast<std::size_t>(Lane::Count);
std::string_view name(Lane);  // "compute", "tp", "cp", "ep", "dp", "pp send next", …

constexpr std::uint32_t no_message = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t no_microbatch = std::numeric_limits<std::uint32_t>::max();

// The smallest thing a backend starts and finishes.
struct Task {
  WorkId work;    // in TaskGraph::works
  LabelId label;  // "L12.mlp.up", "L12.mlp.down.all_reduce", "gradients 3.reduce_scatter"
  std::uint32_t microbatch = no_microbatch;
  std::uint32_t message = no_message;  // sends and receives: equal on both sides, unique in their group
  std::uint16_t chunk = 0;             // the stage's own chunk number
  Lane lane = Lane::Compute;
  Phase phase = Phase::Forward;
};

enum class BufferClass : std::uint8_t {
  Weights,
  Gradients,
  OptimizerState,
  Activations,
  Temporary,
  Communication,
  Count
};
std::string_view name(BufferClass);

constexpr std::uint32_t whole_step = std::numeric_limits<std::uint32_t>::max();

// Memory that lives from the start of task `take` to the end of task `give` (indices into the program);
// whole_step: from before the first task, or until after the last.
struct Buffer {
  BufferClass memory_class = BufferClass::Temporary;
  Bytes size;
  std::uint32_t take = whole_step, give = whole_step;
  LabelId label;
};

// What one rank does in a step. Tasks stand in the order in which the host issues them; each waits for the task
// before it on its lane and for its `after` list (earlier tasks of this program), nothing else of its own rank.
struct Program {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> after_begin;  // size tasks + 1
  std::vector<std::uint32_t> after;        // task indices, all smaller than the task they belong to
  std::vector<Buffer> buffers;
  std::span<const std::uint32_t> waits_for(std::uint32_t task) const {
    return {after.data() + after_begin[task], after.data() + after_begin[task + 1]};
  }
};

// Invariants, by check_task_graph: edges go from earlier to later; all members of a group meet collectives of
// an axis in one order with equal work; every send has its receive in the peer's program and lanes cannot
// deadlock on their order; each axis has one lane; buffers are taken before they are given back.
struct TaskGraph {
  Mesh mesh{MeshShape{}};
  IndexedVector<WorkId, Work> works;  // interned: equal works are stored once
  IndexedVector<LabelId, std::string> labels;
  IndexedVector<LabelId, Subject> subjects;  // by label; Part::None for labels of buffers
  IndexedVector<ProgramId, Program> programs;
  std::vector<ProgramId> program_of;     // by rank
  std::vector<std::uint32_t> device_of;  // by rank: the plan's placement, device numbers of the cluster
  std::uint32_t messages = 0;            // message numbers run from 0 to messages - 1, a pipeline group each
  std::uint32_t microbatches = 1;
  // Of the whole step and all ranks, for MFU and throughput.
  Flops model_flops;  // forward and both gradients, Megatron's convention (core/model/model_flops.h)
  double tokens = 0;  // main-sequence tokens a step (samples * length)
  double samples = 0;

  const Program& program(RankId rank) const { return programs[program_of[rank.value]]; }
  const Task& task(ProgramId p, std::uint32_t t) const { return programs[p].tasks[t]; }
};

// "L12.mlp.up/fwd mb3 r5": survives re-lowering; equal in prediction and measurement.
std::string task_key(const TaskGraph&, RankId, const Task&);

void check_task_graph(const TaskGraph&);  // throws std::logic_error

// Live bytes of a program by class at given task start and end times (seconds, by task index): the peak and the
// curve.
struct MemoryPoint {
  Seconds time;
  std::array<Bytes, static_cast<std::size_t>(BufferClass::Count)> live;
};
struct MemoryCurve {
  std::vector<MemoryPoint>
      points;  // at every change, in time order; coarse callers may ignore all but the peak
  std::size_t peak_index = 0;
  Bytes peak;  // sum over classes at the peak
};
MemoryCurve memory_curve(const Program&, std::span<const Seconds> start, std::span<const Seconds> end);

}  // namespace tandem
