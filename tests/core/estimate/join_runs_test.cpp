// Which tasks become one, and what stays outside.
#include "core/estimate/join_runs.h"

#include <gtest/gtest.h>

#include "core/estimate/compiled_program.h"
#include "tests/support/graph_builder.h"
#include "tests/support/synthetic_costs.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::seconds_of_work;
using testing::SyntheticCosts;

class JoinRuns : public ::testing::Test {
 protected:
  std::uint32_t compute(std::vector<std::uint32_t> after = {}) {
    return builder_.add(program_, Lane::Compute, seconds_of_work(1), after);
  }
  std::uint32_t exchange(std::vector<std::uint32_t> after) {
    Collective work;
    work.axis = Axis::Tensor;
    work.size = Bytes(1e6);
    return builder_.add(program_, Lane::Tensor, work, after);
  }
  std::uint32_t copy(std::vector<std::uint32_t> after) {
    return builder_.add(program_, Lane::Copy, Copy{true, Bytes(50e9)}, after);
  }
  // Every collective takes half a second.
  CompiledProgram joined() {
    const TaskGraph graph = builder_.graph();
    const Communications communications = communications_of(graph, graph.programs[program_]);
    IssueTimes issue;
    PrivateCollectives collectives;
    for (const AxisUse& use : communications.axes) {
      issue.collectives.emplace_back(use.works.size(), 0.0);
      collectives.emplace_back(use.works.size(), 0.5);
    }
    return join_runs(
        compile(graph, program_, communications, issue, SyntheticCosts({.devices = 2}), DeviceId(0), true), 1,
        collectives);
  }
  GraphBuilder builder_{MeshShape{.tp = 2, .edp = 2}};
  ProgramId program_ = builder_.add_program();
};

TEST_F(JoinRuns, ComputationsAndTheirExchangesAreOne) {
  compute({exchange({compute()})});
  const CompiledProgram program = joined();
  ASSERT_EQ(program.tasks.size(), 1u);
  EXPECT_DOUBLE_EQ(program.tasks[0].duration, 2.5);
  EXPECT_EQ(program.pieces.size(), 3u);
}

TEST_F(JoinRuns, WhoeverWaitsForAnInnerTaskEndsTheRun) {
  const std::uint32_t first = compute();
  copy({first});
  compute();
  EXPECT_EQ(joined().tasks.size(), 3u);
}

TEST_F(JoinRuns, WhatRunsBesideAComputationStaysOutside) {
  exchange({compute()});
  compute();  // does not wait for the exchange
  EXPECT_EQ(joined().tasks.size(), 3u);
}

TEST_F(JoinRuns, RunsStopBeforeATaskThatWaitsForSomethingElse) {
  const std::uint32_t stored = copy({});
  compute();
  compute();
  compute({stored});
  EXPECT_EQ(joined().tasks.size(), 3u);  // the copy, two computations, the third
}

// The exchange that only waits for a copy still follows the one inside the run.
TEST_F(JoinRuns, LanesKeepTheirOrderAcrossARun) {
  const std::uint32_t stored = copy({});
  const std::uint32_t inner = exchange({compute()});
  exchange({stored});
  compute({inner});
  const CompiledProgram program = joined();
  const PlayedTask& second = program.tasks[program.tasks.size() - 2];
  ASSERT_EQ(second.kind, PlayKind::Collective);
  bool waits_for_run = false;
  for (std::uint32_t e = second.after_begin; e < second.after_end; ++e) {
    const PlayedTask& before = program.tasks[program.after[e]];
    waits_for_run = waits_for_run || before.piece_begin != before.piece_end;
  }
  EXPECT_TRUE(waits_for_run);
}

}  // namespace
}  // namespace tandem
