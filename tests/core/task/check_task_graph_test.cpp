// A task graph that breaks one invariant is told so by name.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "core/task/task_graph.h"
#include "tests/support/graph_builder.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::seconds_of_work;

const Collective sum{
    .kind = CollectiveKind::AllReduce, .axis = Axis::World, .size = Bytes(64), .algorithm = Algorithm::Auto};
constexpr ProgramId sender{0}, receiver{1};

// Two stages: the first computes and sends twice, the second receives and computes; both meet once at the end.
TaskGraph two_stages() {
  GraphBuilder builder({.pp = 2});
  builder.add_program();
  builder.add_program();
  builder.assign(RankId(1), receiver);
  const std::uint32_t made = builder.add(sender, Lane::Compute, seconds_of_work(1));
  const std::uint32_t arrived =
      builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(8)}, {}, 0);
  builder.add(receiver, Lane::ReceivePrevious, Receive{Axis::Pipeline, 0, Bytes(8)}, {}, 1);
  for (std::uint32_t message : {0u, 1u})
    builder.add(sender, Lane::SendNext, Send{Axis::Pipeline, 1, Bytes(8)}, {made}, message);
  builder.add(receiver, Lane::Compute, seconds_of_work(1), {arrived});
  builder.add(sender, Lane::Data, sum);
  builder.add(receiver, Lane::Data, sum);
  TaskGraph graph = builder.graph();
  graph.programs[sender].buffers = {{BufferClass::Temporary, Bytes(8), 0, 1, LabelId(0)}};
  return graph;
}

// What check_task_graph says about the graph once it is changed; "" when it says nothing.
std::string complaint(const std::function<void(TaskGraph&)>& change) {
  TaskGraph graph = two_stages();
  change(graph);
  try {
    check_task_graph(graph);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}
bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CheckTaskGraph, AcceptsASoundGraph) {
  EXPECT_EQ(complaint([](TaskGraph&) {}), "");
}

TEST(CheckTaskGraph, WantsAProgramForEveryRank) {
  EXPECT_TRUE(mentions(complaint([](TaskGraph& graph) { graph.program_of.pop_back(); }), "for every rank"));
  EXPECT_TRUE(
      mentions(complaint([](TaskGraph& graph) { graph.program_of[1] = ProgramId(7); }), "programs exist"));
}

TEST(CheckTaskGraph, WantsEdgesFromEarlierToLater) {
  const std::string text = complaint([](TaskGraph& graph) { graph.programs[sender].after.front() = 2; });
  EXPECT_TRUE(mentions(text, "from earlier to later")) << text;
}

TEST(CheckTaskGraph, WantsMessageNumbersOnMessagesAlone) {
  const std::string text = complaint([](TaskGraph& graph) { graph.programs[sender].tasks[0].message = 0; });
  EXPECT_TRUE(mentions(text, "carry a message number")) << text;
}

TEST(CheckTaskGraph, WantsBuffersTakenBeforeTheyAreGivenBack) {
  const std::string text = complaint([](TaskGraph& graph) {
    std::swap(graph.programs[sender].buffers[0].take, graph.programs[sender].buffers[0].give);
  });
  EXPECT_TRUE(mentions(text, "taken before it is given back")) << text;
}

TEST(CheckTaskGraph, WantsAReceiveForEverySend) {
  const std::string text = complaint([](TaskGraph& graph) {
    graph.messages = 3;
    graph.programs[sender].tasks[2].message = 2;
  });
  EXPECT_TRUE(mentions(text, "a received message is sent")) << text;
}

TEST(CheckTaskGraph, WantsBothSidesOfAMessageToAgree) {
  const std::string text = complaint([](TaskGraph& graph) {
    Task& task = graph.programs[receiver].tasks[0];
    task.work = graph.works.push_back(Receive{Axis::Pipeline, 0, Bytes(9)});
  });
  EXPECT_TRUE(mentions(text, "both sides of a message agree")) << text;
}

TEST(CheckTaskGraph, WantsMessagesInOneOrder) {
  const std::string text = complaint([](TaskGraph& graph) {
    std::swap(graph.programs[sender].tasks[1].message, graph.programs[sender].tasks[2].message);
  });
  EXPECT_TRUE(mentions(text, "in one order")) << text;
}

TEST(CheckTaskGraph, WantsAllMembersToMeetTheSameCollectives) {
  const std::string text = complaint([](TaskGraph& graph) {
    Collective larger = sum;
    larger.size = Bytes(128);
    graph.programs[receiver].tasks.back().work = graph.works.push_back(larger);
  });
  EXPECT_TRUE(mentions(text, "all members meet the collectives")) << text;
}

TEST(CheckTaskGraph, WantsOneLaneForAnAxis) {
  const std::string text = complaint([](TaskGraph& graph) {
    Program& program = graph.programs[sender];
    Task again = program.tasks.back();
    again.lane = Lane::Tensor;
    program.tasks.push_back(again);
    program.after_begin.push_back(program.after_begin.back());
  });
  EXPECT_TRUE(mentions(text, "one lane")) << text;
}

}  // namespace
}  // namespace tandem
