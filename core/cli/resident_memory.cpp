// Sums over the ranks of a process.
#include "core/cli/resident_memory.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/cost/cost_model.h"
#include "core/dataflow/arena.h"
#include "core/lower/parameters.h"
#include "core/lower/shard.h"

namespace tandem {
namespace {

Bytes bytes(double count) { return Bytes(count); }

// Blocks that dnnl_sgemm (2.6, AVX-512) packs for `rows` x `in` times `in` x `out`: 384 deep, 384 rows of one
// operand and the whole width of the other, of which more than 8 MiB were never touched; the fewer the rows,
// the less.
Bytes packed_blocks(std::int64_t rows, std::int64_t in, std::int64_t out) {
  constexpr std::int64_t block = 384;
  const std::int64_t deep = std::min(in, block), high = std::min(rows, block);
  const Bytes packed = std::min(bytes(4 * static_cast<double>(deep * (high + out))), 8 * BesideArenas::mib);
  return packed * (static_cast<double>(high) / block);
}

Bytes largest_product(const Prepared& prepared) {
  const Shard shard(prepared.model, prepared.plan);
  Bytes largest;
  for (std::uint32_t o = 0; o < prepared.model.size(); ++o) {
    const Operator& op = prepared.model[OperatorId(o)];
    const auto* linear = std::get_if<Linear>(&op.kind);
    if (!linear) continue;
    const std::int64_t in = op.split == Split::Row ? linear->in / shard.tp() : linear->in;
    const std::int64_t out = shard.local_width(op, linear->out), rows = shard.kernel_rows(op);
    for (const Bytes packed : {packed_blocks(rows, in, out), packed_blocks(rows, out, in)})
      largest = std::max(largest, packed);
  }
  return largest;
}

// Where exchanges lay rows out anew: once a lane and size (RankState::staging).
Bytes staging(const TaskGraph& graph, const Program& program, double gradient) {
  std::set<std::tuple<Lane, double, double>> places;  // lane, bytes, copies
  for (const Task& task : program.tasks) {
    const auto* collective = std::get_if<Collective>(&graph.works[task.work]);
    if (!collective) continue;
    switch (graph.subjects[task.label].part) {
      case Part::MirrorAllReduce:
      case Part::EmbeddingAllReduce:
      case Part::ReplicatedAllReduce:  // main gradients, in fp32 whatever their format on the wires
        places.emplace(task.lane, collective->size.value / gradient * 4, 1);
        break;
      case Part::RingKv:
      case Part::GradientRingKv:
        places.emplace(task.lane, collective->size.value, 1);
        break;
      case Part::AllToAllQkv:
      case Part::AllToAllOut:
      case Part::GradientAllToAllQkv:
      case Part::GradientAllToAllOut:
        places.emplace(task.lane, collective->size.value, 2);
        break;
      default:
        break;
    }
  }
  Bytes sum;
  for (const auto& [lane, size, copies] : places) sum += bytes(size * copies);
  return sum;
}

// A weight gradient that is not summed by its product lies in fp32 for as long as the product takes.
Bytes early_gradient(const Prepared& prepared) {
  if (prepared.plan.spec.gradient_accumulation_fusion) return {};
  const Shard shard(prepared.model, prepared.plan);
  double largest = 0;
  for (std::uint32_t o = 0; o < prepared.model.size(); ++o) {
    const Operator& op = prepared.model[OperatorId(o)];
    if (const auto* linear = std::get_if<Linear>(&op.kind))
      largest = std::max(largest, static_cast<double>(linear->in * linear->out / shard.tp()));
  }
  return bytes(4 * largest);
}

}  // namespace

std::optional<ResidentMemory> resident_on_cores(const Prepared& prepared, const CostModel& costs,
                                                TaskGraph& graph, const BesideArenas& beside) {
  if (!costs.shared_cores(DeviceId(0)) || !has_data_flow(prepared.model, prepared.plan)) return std::nullopt;
  const Bytes kernels = largest_product(prepared) * beside.packed_products + early_gradient(prepared);
  ResidentMemory result;
  Bytes common = beside.process, largest_rank;
  std::vector<Bytes> rank_of_stage, task_times;
  for (std::uint32_t stage = 0; stage < graph.programs.size(); ++stage) {
    Program& program = graph.programs[ProgramId(stage)];
    const DataFlow flow = bind_values(prepared.model, prepared.plan, graph, stage);
    const Bytes arena = bytes(static_cast<double>(plan_arena(flow, program).size));
    const auto tasks = static_cast<double>(program.tasks.size());
    result.arena = std::max(result.arena, arena);
    common += beside.program_task * tasks;
    rank_of_stage.push_back(arena + kernels + staging(graph, program, gradient_bytes(prepared.plan.spec)) +
                            beside.rank + beside.rank_task * tasks);
    task_times.push_back(beside.reported_task * tasks);
    largest_rank = std::max(largest_rank, rank_of_stage.back());
    program.buffers = exact_buffers(flow, program);
  }
  result.threads = common;
  // Rank 0 records what all others report; it is taken for the largest, as it mostly is.
  result.process = common + beside.mpi + largest_rank;
  for (const ProgramId program : graph.program_of) {
    result.threads += rank_of_stage[program.value];
    result.process += task_times[program.value];
  }
  return result;
}

}  // namespace tandem
