// What of a plan takes how much of a process.
#include "core/cli/resident_memory.h"

#include <gtest/gtest.h>

#include "core/lower/lower.h"
#include "core/scenario/scenario.h"

namespace tandem {
namespace {

const std::string scenarios = std::string(TANDEM_SOURCE_DIR) + "/scenarios";

std::optional<ResidentMemory> resident(const std::string& id, const std::vector<Override>& overrides,
                                       const BesideArenas& beside) {
  const Scenario scenario = read_scenario(scenarios + "/" + id + ".toml", overrides, read_library(scenarios));
  const Prepared prepared = prepare(scenario);
  const CostModel costs = cost_model_of(scenario, prepared.cluster, scenarios);
  TaskGraph graph = lower(prepared.model, prepared.plan);
  return resident_on_cores(prepared, costs, graph, beside);
}
ResidentMemory on_two_cores(const std::vector<Override>& overrides, const BesideArenas& beside) {
  return resident("llama-mini-2-cores", overrides, beside).value();
}
BesideArenas nothing() {
  return {.process = {},
          .mpi = {},
          .rank = {},
          .program_task = {},
          .rank_task = {},
          .reported_task = {},
          .packed_products = 0};
}
const std::vector<Override> pipeline = {
    {"plan.tp", "1", {}}, {"plan.pp", "2", {}}, {"plan.sequence_parallel", "false", {}}};

TEST(ResidentMemory, IsTheArenasOfAllRanksOrOfOne) {
  const std::vector<Override> data = {
      {"plan.tp", "1", {}}, {"plan.dp", "2", {}}, {"plan.sequence_parallel", "false", {}}};
  const ResidentMemory memory = on_two_cores(data, nothing());
  EXPECT_EQ(memory.threads, memory.arena * 2);
  EXPECT_EQ(memory.process, memory.arena);
}
TEST(ResidentMemory, OfStagesIsTheSumOfDifferentArenas) {
  const ResidentMemory memory = on_two_cores(pipeline, nothing());
  EXPECT_EQ(memory.process, memory.arena);
  EXPECT_LT(memory.threads, memory.arena * 2);
  EXPECT_GT(memory.threads, memory.arena);
}
TEST(ResidentMemory, CountsWhatAProcessAndARankHoldBeside) {
  BesideArenas beside = nothing();
  const ResidentMemory arenas = on_two_cores(pipeline, beside);
  beside.process = Bytes(1000), beside.mpi = Bytes(100), beside.rank = Bytes(10);
  const ResidentMemory memory = on_two_cores(pipeline, beside);
  EXPECT_EQ(memory.threads - arenas.threads, Bytes(1020));
  EXPECT_EQ(memory.process - arenas.process, Bytes(1110));
}
TEST(ResidentMemory, IsNotKnownOfGpus) {
  EXPECT_FALSE(resident("llama-3.1-8b-2xdgx-h100", {}, {}).has_value());
}

}  // namespace
}  // namespace tandem
