// Simulation against estimates where nothing is shared, and against fair shares where links are.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <random>

#include "core/collective/collective.h"
#include "core/estimate/play.h"
#include "core/problem/problem.h"
#include "sim/simulate_costs.h"
#include "tests/support/graph_builder.h"
#include "tests/support/synthetic_costs.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::pipeline_graph;
using testing::PipelineShape;
using testing::seconds_of_work;
using testing::SyntheticCosts;
using testing::SyntheticMachine;

PlayOptions at(Fidelity fidelity) {
  PlayOptions options;
  options.fidelity = fidelity;
  return options;
}

Collective all_reduce(double bytes, Axis axis) {
  Collective work;
  work.axis = axis;
  work.size = Bytes(bytes);
  return work;
}

// Two pairs of ranks in different nodes; both messages leave through the uplink of one leaf when leaves are
// nodes.
TaskGraph two_messages(double second_start) {
  GraphBuilder builder({.dp = 2, .pp = 2, .edp = 2});
  for (std::uint32_t dp = 0; dp < 2; ++dp) {
    const ProgramId sender = builder.add_program(), receiver = builder.add_program();
    const std::uint32_t a = builder.add(sender, Lane::Compute, seconds_of_work(dp == 0 ? 0 : second_start));
    builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(50e9)}, {a}, 0);
    builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(50e9)}, {}, 0);
    builder.assign(
        builder.mesh().member(Axis::Pipeline, builder.mesh().place(RankId(dp), Axis::Pipeline).group, 0),
        sender);
    builder.assign(
        builder.mesh().member(Axis::Pipeline, builder.mesh().place(RankId(dp), Axis::Pipeline).group, 1),
        receiver);
  }
  return builder.graph();
}

TEST(Simulate, SharesCoresAsTheEstimateDoes) {
  const TaskGraph graph = pipeline_graph({.tp = 2, .pp = 2, .dp = 2});
  const SyntheticCosts costs({.cores = SharedCores{.cores = 3}});
  const Playback simulated = simulate(graph, costs, at(Fidelity::Folded));
  EXPECT_NEAR(simulated.step_time.value, estimate(graph, costs, {}).step_time.value, 1e-9);
}

TEST(Simulate, TwoFlowsOnOneLinkShareIt) {
  const SyntheticCosts costs(
      {.devices = 4, .devices_per_node = 2, .nodes_per_leaf = 1, .oversubscription = 2, .latency = 0});
  const TaskGraph graph = two_messages(0);
  EXPECT_NEAR(estimate(graph, costs, {}).step_time.value, 1, 1e-9);
  EXPECT_NEAR(simulate_in_child(graph, costs, at(Fidelity::Full)).step_time.value, 2, 1e-9);
}

TEST(Simulate, LateFlowTakesHalfOfWhatIsLeft) {
  const SyntheticCosts costs(
      {.devices = 4, .devices_per_node = 2, .nodes_per_leaf = 1, .oversubscription = 2, .latency = 0});
  PlayOptions options = at(Fidelity::Full);
  for (std::uint32_t r = 0; r < 4; ++r) options.recorded.push_back(RankId(r));
  const Playback playback = simulate_in_child(two_messages(0.5), costs, options);
  // Alone until 0.5, then both at half rate: the first needs 1 s more, the second then has half its bytes left.
  std::vector<double> ends;
  for (const RankTimes& rank : playback.ranks) ends.push_back(rank.tasks.back().end.value);
  std::sort(ends.begin(), ends.end());
  EXPECT_NEAR(ends.front(), 1.5, 1e-9);
  EXPECT_NEAR(ends.back(), 2.0, 1e-9);
}

// Flows start from one SimGrid host whose star route is rewritten before each: 3.32 allows that after the
// platform is sealed, and flows under way keep the route they started with.
TEST(Simulate, RewrittenRouteLeavesRunningFlowsAlone) {
  // Two pairs of nodes on leaves of their own. Both lanes of a sender could use its port, so all messages are
  // flows.
  GraphBuilder builder({.dp = 2, .pp = 2, .edp = 2});
  for (std::uint32_t dp = 0; dp < 2; ++dp) {
    const ProgramId sender = builder.add_program(), receiver = builder.add_program();
    const std::uint32_t a = builder.add(sender, Lane::Compute, seconds_of_work(0.5 * dp));
    const std::uint32_t b = builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(50e9)}, {a}, 0);
    builder.add(sender, Lane::SendPrevious, Send{Axis::Pipeline, 1, Bytes(0)}, {b}, 1);
    builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(50e9)}, {}, 0);
    builder.add(receiver, Lane::ReceiveNext, Receive{Axis::Pipeline, 0, Bytes(0)}, {}, 1);
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      const RankId rank =
          builder.mesh().member(Axis::Pipeline, builder.mesh().place(RankId(dp), Axis::Pipeline).group, stage);
      builder.assign(rank, stage == 0 ? sender : receiver);
      builder.place(rank, 2 * dp + stage);
    }
  }
  const SyntheticCosts costs({.devices = 4, .devices_per_node = 1, .nodes_per_leaf = 2, .latency = 0});
  const Playback playback = simulate_in_child(builder.graph(), costs, at(Fidelity::Full));
  EXPECT_EQ(playback.flows_played, 2u);
  EXPECT_NEAR(playback.step_time.value, 1.5, 1e-9);
}

TEST(Simulate, LinksCarryTheBytesOfTheirRoutes) {
  const SyntheticCosts costs({.devices = 4, .devices_per_node = 2, .nodes_per_leaf = 1, .latency = 0});
  const Playback playback = simulate_in_child(two_messages(0), costs, at(Fidelity::Folded));
  double bytes = 0;
  for (const LinkUse& link : playback.links) bytes += link.carried.value * link.multiplicity;
  EXPECT_NEAR(bytes, 2 * 2 * 50e9 + 2 * 100e9, 1);  // two ports a message, and the two uplinks that carry both
}

// Two stages of four replicas, a node each. Every task waits for the one before, and all ranks keep one order:
// no rank is in two communications at once, so no port carries two flows.
TaskGraph one_thing_at_a_time(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> amount(0.5, 1.5);
  GraphBuilder builder({.dp = 4, .pp = 2, .edp = 4});
  std::array<ProgramId, 2> programs = {builder.add_program(), builder.add_program()};
  for (std::uint32_t r = 0; r < 8; ++r) builder.assign(RankId(r), programs[builder.mesh().stage(RankId(r))]);
  std::array<std::vector<std::uint32_t>, 2> after;
  // Much later, and ordered by nothing but time: could meet all that follows, which therefore are flows.
  for (ProgramId p : programs) {
    const std::uint32_t later = builder.add(p, Lane::Copy, Copy{true, Bytes(50e9)});
    builder.add(p, Lane::Expert, all_reduce(1e6, Axis::ExpertData), {later});
  }
  for (std::uint32_t step = 0; step < 40; ++step) {
    const std::uint64_t kind = random() % 4;
    const Bytes size(1e7 * amount(random));
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      Lane lane = Lane::Compute;
      Work work = seconds_of_work(1e-3 * amount(random));
      std::uint32_t message = no_message;
      if (kind == 1 || kind == 2) {
        Collective exchange;
        exchange.kind = kind == 1 ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce;
        exchange.axis = kind == 1 ? Axis::Data : Axis::World;
        exchange.size = size;
        work = exchange;
        lane = kind == 1 ? Lane::Data : Lane::Context;
      } else if (kind == 3) {
        message = step;
        if (stage == step % 2) {
          work = Send{Axis::Pipeline, 1 - stage, size};
          lane = stage == 0 ? Lane::SendNext : Lane::SendPrevious;
        } else {
          work = Receive{Axis::Pipeline, 1 - stage, size};
          lane = stage == 0 ? Lane::ReceiveNext : Lane::ReceivePrevious;
        }
      }
      after[stage] = {builder.add(programs[stage], lane, work, after[stage], message)};
    }
  }
  return builder.graph();
}

TEST(Simulate, EqualsEstimateWithoutContention) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const TaskGraph graph = one_thing_at_a_time(seed);
    const SyntheticCosts costs({.devices = 8, .devices_per_node = 1, .nodes_per_leaf = 8});
    const double expected = estimate(graph, costs, {}).step_time.value;
    for (Fidelity fidelity : {Fidelity::Full, Fidelity::Folded, Fidelity::Fused}) {
      const Playback playback = simulate_in_child(graph, costs, at(fidelity));
      EXPECT_GT(playback.flows_played, 0u);
      EXPECT_NEAR(playback.step_time.value, expected, 1e-9 * expected) << name(fidelity) << " seed " << seed;
    }
  }
}

TEST(Simulate, RingAllReduceMeetsItsClosedForm) {
  for (const std::int64_t ranks : {2, 5, 16}) {
    GraphBuilder builder({.dp = ranks, .edp = ranks});
    const ProgramId p = builder.add_program();
    // Nothing but time keeps the two axes from sharing the ports, so both are flows.
    builder.add(p, Lane::Data, all_reduce(1e9, Axis::Data));
    builder.add(p, Lane::Context, all_reduce(1e9, Axis::World),
                {builder.add(p, Lane::Compute, seconds_of_work(1))});
    const SyntheticCosts costs({.devices = 16, .devices_per_node = 1, .nodes_per_leaf = 16});
    const double one = closed_form(CollectiveKind::AllReduce, Algorithm::Ring, static_cast<std::size_t>(ranks),
                                   Bytes(1e9), Seconds(5e-6), Bandwidth(50e9))
                           .value;
    const Playback playback = simulate_in_child(builder.graph(), costs, at(Fidelity::Full));
    EXPECT_EQ(playback.flows_played, 2u);
    EXPECT_NEAR(playback.step_time.value, 1 + one, 1e-9 * one);
  }
}

TEST(Simulate, RerunsAreBitEqual) {
  const TaskGraph graph = pipeline_graph({.tp = 2, .pp = 4, .dp = 4});
  const SyntheticCosts costs(
      {.devices = 32, .devices_per_node = 4, .nodes_per_leaf = 2, .oversubscription = 4});
  PlayOptions options = at(Fidelity::Full);
  options.jitter = 0.02;
  const double first = simulate_in_child(graph, costs, options).step_time.value;
  EXPECT_EQ(simulate_in_child(graph, costs, options).step_time.value, first);
}

TEST(Simulate, SaysWhyItCannotRunTwice) {
  EXPECT_EXIT(
      {
        GraphBuilder builder({});
        builder.add(builder.add_program(), Lane::Compute, seconds_of_work(1));
        const SyntheticCosts costs({.devices = 1});
        simulate(builder.graph(), costs, at(Fidelity::Full));
        try {
          simulate(builder.graph(), costs, at(Fidelity::Full));
        } catch (const std::logic_error&) {
          std::_Exit(7);
        }
      },
      ::testing::ExitedWithCode(7), "");
}

TEST(SimulateInChild, PassesOnWhatIsBlocked) {
  GraphBuilder builder({.pp = 2});
  const ProgramId sender = builder.add_program(), receiver = builder.add_program();
  builder.assign(RankId(1), receiver);
  builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(1)}, {}, 0);
  builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(1)}, {}, 1);
  builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(1)}, {}, 1);
  builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(1)}, {}, 0);
  EXPECT_THROW(simulate_in_child(builder.graph(), SyntheticCosts({.devices = 2}), at(Fidelity::Full)),
               std::logic_error);
}

TEST(SimulateInChild, PassesOnInputErrors) {
  GraphBuilder builder({});
  builder.add_program();
  PlayOptions options = at(Fidelity::Full);
  options.recorded = {RankId(3)};
  EXPECT_THROW(simulate_in_child(builder.graph(), SyntheticCosts({.devices = 1}), options), InputError);
}

class DyingCosts final : public CostSource {
 public:
  std::uint32_t device_key(DeviceId) const override {
    std::raise(SIGKILL);
    return 0;
  }
  double slowdown(DeviceId) const override { return 1; }
  ComputeCost compute(const Compute&, DeviceId) const override { return {}; }
  ComputeCost copy(const Copy&, DeviceId) const override { return {}; }
  ComputeCost input(const WaitForInput&) const override { return {}; }
  double overlap_slowdown(DeviceId) const override { return 1; }
  double straggler_factor() const override { return 1; }
  std::size_t link_count() const override { return 0; }
  Bandwidth capacity(LinkId) const override { return {}; }
  std::uint64_t shape(std::span<const DeviceId>) const override { return 0; }
  CommunicationCost collective(const Collective&, std::span<const DeviceId>) const override { return {}; }
  CommunicationCost message(Bytes, DeviceId, DeviceId) const override { return {}; }
  std::vector<LinkLoad> loads(const Collective&, Algorithm, std::span<const DeviceId>) const override {
    return {};
  }
  std::vector<LinkLoad> loads(DeviceId, DeviceId) const override { return {}; }
};

TEST(SimulateInChild, ReportsAChildThatDies) {
  GraphBuilder builder({});
  builder.add_program();
  EXPECT_THROW(simulate_in_child(builder.graph(), DyingCosts(), at(Fidelity::Full)), BackendError);
}

TEST(SimulateInChild, ProgressMayStopTheRun) {
  const TaskGraph graph = pipeline_graph({.pp = 2, .dp = 8, .microbatches = 512, .layers = 8});
  PlayOptions options = at(Fidelity::Full);
  options.progress = [](double) { return false; };
  EXPECT_FALSE(simulate_in_child(graph, SyntheticCosts({.devices = 16}), options).complete);
}

}  // namespace
}  // namespace tandem
