// The null backend on small graphs whose times are known by hand.
#include <gtest/gtest.h>

#include "core/estimate/play.h"
#include "core/problem/problem.h"
#include "core/task/task_graph.h"
#include "tests/support/graph_builder.h"
#include "tests/support/synthetic_costs.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::pipeline_graph;
using testing::PipelineShape;
using testing::seconds_of_work;
using testing::SyntheticCosts;

Collective all_reduce(double bytes, Axis axis = Axis::Tensor) {
  Collective work;
  work.axis = axis;
  work.size = Bytes(bytes);
  return work;
}

PlayOptions record(std::vector<std::uint32_t> ranks) {
  PlayOptions options;
  for (std::uint32_t rank : ranks) options.recorded.push_back(RankId(rank));
  return options;
}

TEST(Estimate, OneRankTakesTheSumOfItsLane) {
  GraphBuilder builder({});
  const ProgramId p = builder.add_program();
  for (double seconds : {0.5, 0.25, 0.125}) builder.add(p, Lane::Compute, seconds_of_work(seconds));
  const Playback playback = estimate(builder.graph(), SyntheticCosts({.devices = 1}), {});
  EXPECT_DOUBLE_EQ(playback.step_time.value, 0.875);
  ASSERT_EQ(playback.ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[1].start.value, 0.5);
  EXPECT_EQ(playback.ranks[0].tasks[0].held_by, HeldBy::Nothing);
  EXPECT_EQ(playback.ranks[0].tasks[1].held_by, HeldBy::Lane);
  EXPECT_EQ(playback.ranks[0].tasks[2].cause_task, 1u);
}

TEST(Estimate, LanesRunSideBySideAndEdgesMakeThemWait) {
  GraphBuilder builder({});
  const ProgramId p = builder.add_program();
  const std::uint32_t a = builder.add(p, Lane::Compute, seconds_of_work(1));
  const std::uint32_t copy =
      builder.add(p, Lane::Copy, Copy{true, Bytes(100e9)}, {a});  // 2 s at the port's rate
  builder.add(p, Lane::Compute, seconds_of_work(1));
  builder.add(p, Lane::Compute, seconds_of_work(1), {copy});
  const Playback playback = estimate(builder.graph(), SyntheticCosts({.devices = 1}), {});
  EXPECT_DOUBLE_EQ(playback.step_time.value, 4);
  EXPECT_EQ(playback.ranks[0].tasks[3].held_by, HeldBy::Dependency);
  EXPECT_EQ(playback.ranks[0].tasks[3].cause_task, copy);
}

TEST(Estimate, HostLaunchesInProgramOrderAndRunsAhead) {
  GraphBuilder builder({});
  const ProgramId p = builder.add_program();
  builder.add(p, Lane::Compute, seconds_of_work(0.1, 1));
  builder.add(p, Lane::Compute, seconds_of_work(5, 1));
  builder.add(p, Lane::Compute, seconds_of_work(0.1, 1));
  const Playback playback = estimate(builder.graph(), SyntheticCosts({.devices = 1}), {});
  const std::vector<TaskTimes>& tasks = playback.ranks[0].tasks;
  EXPECT_DOUBLE_EQ(tasks[0].start.value, 1);
  EXPECT_EQ(tasks[0].held_by, HeldBy::Host);
  EXPECT_DOUBLE_EQ(tasks[1].start.value, 2);
  EXPECT_DOUBLE_EQ(tasks[2].start.value, 7);
  EXPECT_EQ(tasks[2].held_by, HeldBy::Lane);
}

TEST(Estimate, HostIssuesCommunicationsToo) {
  GraphBuilder builder({.tp = 2, .edp = 2});
  const ProgramId p = builder.add_program();
  builder.add(p, Lane::Tensor, all_reduce(0));
  builder.add(p, Lane::Compute, seconds_of_work(1));
  const Playback playback =
      estimate(builder.graph(), SyntheticCosts({.devices = 2, .latency = 0.25, .issue = 3}), {});
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[0].start.value, 3);
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[0].end.value, 3.5);
  EXPECT_DOUBLE_EQ(playback.step_time.value, 4);
}

TEST(Estimate, CollectiveStartsWithItsLastMember) {
  GraphBuilder builder({.tp = 2, .edp = 2});
  for (double seconds : {1.0, 3.0}) {
    const ProgramId p = builder.add_program();
    const std::uint32_t a = builder.add(p, Lane::Compute, seconds_of_work(seconds));
    const std::uint32_t b = builder.add(p, Lane::Tensor, all_reduce(400e9), {a});
    builder.add(p, Lane::Compute, seconds_of_work(1), {b});
    builder.assign(RankId(p.value), p);
  }
  const Playback playback =
      estimate(builder.graph(), SyntheticCosts({.devices = 2, .latency = 0.25}), record({0, 1}));
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[1].start.value, 3);
  EXPECT_DOUBLE_EQ(playback.ranks[0].tasks[1].end.value, 4.5);  // 2 latencies, 1 s on the wires
  EXPECT_EQ(playback.ranks[0].tasks[1].held_by, HeldBy::Peer);
  EXPECT_EQ(playback.ranks[0].tasks[1].cause_rank, 1u);
  EXPECT_EQ(playback.ranks[1].tasks[1].held_by, HeldBy::Dependency);
  EXPECT_DOUBLE_EQ(playback.step_time.value, 5.5);
}

TEST(Estimate, MessageStartsWhenBothSidesAreReady) {
  GraphBuilder builder({.pp = 2});
  const ProgramId sender = builder.add_program(), receiver = builder.add_program();
  builder.assign(RankId(1), receiver);
  const std::uint32_t a = builder.add(sender, Lane::Compute, seconds_of_work(2));
  builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(400e9)}, {a}, 0);
  const std::uint32_t r =
      builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(400e9)}, {}, 0);
  builder.add(receiver, Lane::Compute, seconds_of_work(1), {r});
  const Playback playback =
      estimate(builder.graph(), SyntheticCosts({.devices = 2, .latency = 0.5}), record({0, 1}));
  EXPECT_DOUBLE_EQ(playback.ranks[1].tasks[0].start.value, 2);
  EXPECT_DOUBLE_EQ(playback.ranks[1].tasks[0].end.value, 3.5);
  EXPECT_EQ(playback.ranks[1].tasks[0].held_by, HeldBy::Peer);
  EXPECT_EQ(playback.ranks[1].tasks[0].cause_rank, 0u);
  EXPECT_EQ(playback.ranks[1].tasks[0].cause_task, a);
  EXPECT_DOUBLE_EQ(playback.step_time.value, 4.5);
}

TEST(Estimate, CommunicationSlowsTheComputationBesideIt) {
  GraphBuilder builder({.tp = 2, .edp = 2});
  const ProgramId p = builder.add_program();
  builder.add(p, Lane::Compute, seconds_of_work(1));
  builder.add(p, Lane::Compute, seconds_of_work(4));
  builder.add(p, Lane::Tensor, all_reduce(800e9), {0});  // from 1 to 3
  const Playback playback =
      estimate(builder.graph(), SyntheticCosts({.devices = 2, .latency = 0, .overlap = 1.25}), {});
  // Two seconds beside the all-reduce do 1.6 s of work, 2.4 s are left.
  EXPECT_DOUBLE_EQ(playback.step_time.value, 5.4);
}

TEST(Estimate, CopiesSlowNothing) {
  GraphBuilder builder({});
  const ProgramId p = builder.add_program();
  builder.add(p, Lane::Compute, seconds_of_work(4));
  builder.add(p, Lane::Copy, Copy{true, Bytes(50e9)});
  EXPECT_DOUBLE_EQ(estimate(builder.graph(), SyntheticCosts({.devices = 1, .overlap = 2}), {}).step_time.value,
                   4);
}

TEST(Estimate, ZeroBytesTakeTheirLatency) {
  GraphBuilder builder({.pp = 2});
  const ProgramId sender = builder.add_program(), receiver = builder.add_program();
  builder.assign(RankId(1), receiver);
  builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(0)}, {}, 0);
  builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(0)}, {}, 0);
  EXPECT_DOUBLE_EQ(
      estimate(builder.graph(), SyntheticCosts({.devices = 2, .latency = 0.5}), {}).step_time.value, 0.5);
}

TEST(Estimate, NamesWhatIsBlocked) {
  GraphBuilder builder({.pp = 2});
  const ProgramId sender = builder.add_program(), receiver = builder.add_program();
  builder.assign(RankId(1), receiver);
  builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(1)}, {}, 0);
  builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(1)}, {}, 1);
  builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(1)}, {}, 1);
  builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(1)}, {}, 0);
  try {
    estimate(builder.graph(), SyntheticCosts({.devices = 2}), {});
    FAIL() << "a crossed order cannot end";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("0 of 4"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("r1"), std::string::npos) << error.what();
  }
}

TEST(Estimate, RefusesOptionsThatMakeNoSense) {
  GraphBuilder builder({});
  builder.add_program();
  PlayOptions options = record({7});
  options.jitter = -1;
  try {
    estimate(builder.graph(), SyntheticCosts({.devices = 1}), options);
    FAIL() << "two problems";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().size(), 2u);
  }
}

TEST(Estimate, ProgressMayStopTheRun) {
  const TaskGraph graph = pipeline_graph({.pp = 2, .dp = 8, .microbatches = 512, .layers = 8});
  PlayOptions options;
  options.jitter = 0.01;  // keeps the replicas apart
  double last = -1;
  options.progress = [&](double share) {
    EXPECT_GT(share, last);
    last = share;
    return false;
  };
  const Playback playback = estimate(graph, SyntheticCosts({.devices = 16}), options);
  EXPECT_FALSE(playback.complete);
  EXPECT_GT(last, 0);
}

TEST(Estimate, JitterIsDrawnFromItsSeed) {
  const TaskGraph graph = pipeline_graph({.tp = 2, .pp = 2, .dp = 2});
  const SyntheticCosts costs({.devices = 8});
  PlayOptions options;
  const double still = estimate(graph, costs, options).step_time.value;
  options.jitter = 0.05;
  options.seed = 7;
  const double first = estimate(graph, costs, options).step_time.value;
  EXPECT_EQ(estimate(graph, costs, options).step_time.value, first);
  EXPECT_GT(first, still);
  options.seed = 8;
  EXPECT_NE(estimate(graph, costs, options).step_time.value, first);
}

}  // namespace
}  // namespace tandem
