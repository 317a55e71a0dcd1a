// When a communication of several ranks begins.
#include "exec/run/meetings.h"

#include <gtest/gtest.h>

#include "core/lower/lower.h"
#include "tests/exec/execute/training_run.h"

namespace tandem {
namespace {

// Rank r's tasks follow one another, 100 a task, the whole rank `late` later than the one before.
std::vector<RankReport> reports(const TaskGraph& graph, Nanoseconds late) {
  std::vector<RankReport> ranks(graph.program_of.size());
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    Nanoseconds time = r * late;
    for (std::size_t t = 0; t < graph.program(RankId(r)).tasks.size(); ++t, time += 100)
      ranks[r].tasks.push_back({time, time + 100});
  }
  return ranks;
}

TaskGraph graph_of(const std::string& plan) {
  const ModelSpec spec = testing::tiny_gpt(2);
  const ModelGraph model = build_model(spec);
  return lower(model, testing::tiny_plan(spec, model, testing::plan_of(plan)));
}

TEST(Meetings, ACollectiveStartsWithItsLastMember) {
  const TaskGraph graph = graph_of("tp=2");
  std::vector<RankReport> ranks = reports(graph, 30);
  std::vector<std::vector<bool>> held;
  Meetings(graph).align(ranks, held);
  int collectives = 0;
  const Program& program = graph.program(RankId(0));
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    if (!std::holds_alternative<Collective>(graph.works[program.tasks[t].work])) continue;
    ++collectives;
    EXPECT_EQ(ranks[0].tasks[t].start, ranks[1].tasks[t].start);
    EXPECT_TRUE(held[0][t]);
    EXPECT_FALSE(held[1][t]);
  }
  EXPECT_GT(collectives, 4);
}

TEST(Meetings, ComputationStaysWhereItWas) {
  const TaskGraph graph = graph_of("tp=2");
  std::vector<RankReport> ranks = reports(graph, 30);
  std::vector<std::vector<bool>> held;
  Meetings(graph).align(ranks, held);
  EXPECT_EQ(ranks[0].tasks.front().start, 0);
  EXPECT_FALSE(held[0].front());
}

TEST(Meetings, AMessageStartsWithItsLaterSide) {
  const TaskGraph graph = graph_of("pp=2");
  std::vector<RankReport> ranks = reports(graph, 100'000);
  std::vector<std::vector<bool>> held;
  Meetings(graph).align(ranks, held);
  const Program& program = graph.program(RankId(0));
  int sends = 0;
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    if (!std::holds_alternative<Send>(graph.works[program.tasks[t].work])) continue;
    ++sends;
    EXPECT_TRUE(held[0][t]);
  }
  EXPECT_GT(sends, 0);
}

TEST(Meetings, NoStartIsLaterThanItsEnd) {
  const TaskGraph graph = graph_of("pp=2");
  std::vector<RankReport> ranks = reports(graph, 1'000'000);
  std::vector<std::vector<bool>> held;
  Meetings(graph).align(ranks, held);
  for (const RankReport& rank : ranks)
    for (const CommunicationTimes& task : rank.tasks) EXPECT_LE(task.start, task.end);
}

}  // namespace
}  // namespace tandem
