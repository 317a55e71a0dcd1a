// Ranks that share the cores of a machine: computation and communication slow one another down.
#include <gtest/gtest.h>

#include "core/estimate/play.h"
#include "tests/support/graph_builder.h"
#include "tests/support/synthetic_costs.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::pipeline_graph;
using testing::seconds_of_work;
using testing::SyntheticCosts;

// A wire of 1 B/s and no latency: an all-reduce of x bytes between two takes x seconds.
SyntheticCosts cores(SharedCores shared, std::uint32_t devices = 2) {
  return SyntheticCosts({.devices = devices, .wire = 1, .latency = 0, .cores = shared});
}
Collective all_reduce(double seconds) { return {.axis = Axis::Tensor, .size = Bytes(seconds)}; }

// Each of `ranks` computes once.
double computing(std::int64_t ranks, SharedCores shared) {
  GraphBuilder builder({.dp = ranks, .edp = ranks});
  const ProgramId p = builder.add_program();
  builder.add(p, Lane::Compute, seconds_of_work(1));
  return estimate(builder.graph(), cores(shared, static_cast<std::uint32_t>(ranks)), {}).step_time.value;
}

TEST(SharedCores, SufficeForAsManyRanks) { EXPECT_DOUBLE_EQ(computing(2, {.cores = 2}), 1); }
TEST(SharedCores, AreDividedAmongMoreRanks) { EXPECT_DOUBLE_EQ(computing(6, {.cores = 2}), 3); }
TEST(SharedCores, AreTakenByEachThreadOfATeam) {
  EXPECT_DOUBLE_EQ(computing(2, {.cores = 2, .threads = 2}), 2);
}

TEST(SharedCores, MakeComputationAndCommunicationWaitForOneAnother) {
  GraphBuilder builder({.tp = 2, .edp = 2});
  const ProgramId p = builder.add_program();
  builder.add(p, Lane::Tensor, all_reduce(1));
  builder.add(p, Lane::Compute, seconds_of_work(3));
  const Playback playback = estimate(builder.graph(), cores({.cores = 2}), {});
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[0].end.value, 2);  // at half speed
  EXPECT_DOUBLE_EQ(playback.step_time.value, 4);              // nothing is hidden
}

TEST(SharedCores, AreLeftToComputationByPacedCommunication) {
  GraphBuilder builder({.tp = 2, .edp = 2});
  const ProgramId p = builder.add_program();
  builder.add(p, Lane::Tensor, all_reduce(1));
  builder.add(p, Lane::Compute, seconds_of_work(3));
  const Playback playback = estimate(builder.graph(), cores({.cores = 2, .communication = 0}), {});
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[0].end.value, 1);
  EXPECT_DOUBLE_EQ(playback.step_time.value, 3);
}

TEST(SharedCores, ForgetDatesThatTheyMovedForward) {
  // The first all-reduce, slowed to end at 4 s, ends at 2.5 s, since the computation beside it has ended by 1
  // s. At 4 s no all-reduce is under way.
  GraphBuilder builder({.tp = 2, .edp = 2});
  const ProgramId p = builder.add_program();
  const std::uint32_t first = builder.add(p, Lane::Tensor, all_reduce(2));
  builder.add(p, Lane::Compute, seconds_of_work(0.5));
  const std::uint32_t between = builder.add(p, Lane::Compute, seconds_of_work(3), {first});
  builder.add(p, Lane::Tensor, all_reduce(5), {between});
  const Playback playback = estimate(builder.graph(), cores({.cores = 2}), {});
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[first].end.value, 2.5);
  EXPECT_DOUBLE_EQ(playback.step_time.value, 10.5);
}

TEST(SharedCores, AreFreeWhileRanksWait) {
  GraphBuilder builder({.pp = 4});
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const ProgramId p = builder.add_program();
    builder.assign(RankId(stage), p);
    std::vector<std::uint32_t> after;
    if (stage > 0)
      after = {
          builder.add(p, Lane::ReceivePrevious, Receive{Axis::Pipeline, stage - 1, Bytes(0)}, {}, stage - 1)};
    const std::uint32_t work = builder.add(p, Lane::Compute, seconds_of_work(1), after);
    if (stage < 3) builder.add(p, Lane::SendNext, Send{Axis::Pipeline, stage + 1, Bytes(0)}, {work}, stage);
  }
  EXPECT_DOUBLE_EQ(estimate(builder.graph(), cores({.cores = 2}, 4), {}).step_time.value, 4);
}

TEST(SharedCores, LeaveTheSumOfWorkOfABusyMachine) {
  // Four stages on one core: bubbles of one are filled by the others.
  const TaskGraph graph = pipeline_graph({.pp = 4, .microbatches = 8, .message_bytes = 0});
  double work = 0;
  for (const ProgramId p : graph.program_of)
    for (const Task& task : graph.programs[p].tasks)
      if (const auto* compute = std::get_if<Compute>(&graph.works[task.work]))
        work += std::get<MemoryPass>(compute->kernel).elements;
  const SyntheticCosts costs({.devices = 4, .latency = 0, .cores = SharedCores{.cores = 1}});
  EXPECT_NEAR(estimate(graph, costs, {}).step_time.value, work, 1e-9 * work);
}

}  // namespace
}  // namespace tandem
