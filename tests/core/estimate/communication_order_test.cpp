// When lanes and edges keep two kinds of communication apart.
#include "core/estimate/communication_order.h"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::seconds_of_work;

class Order : public ::testing::Test {
 protected:
  std::uint32_t collective(Axis axis, Lane lane, std::vector<std::uint32_t> after) {
    Collective work;
    work.axis = axis;
    work.size = Bytes(1);
    return builder_.add(program_, lane, work, after);
  }
  std::uint32_t compute(std::vector<std::uint32_t> after = {}) {
    return builder_.add(program_, Lane::Compute, seconds_of_work(1), after);
  }
  // Of tensor (0) and data (1) collectives.
  bool ordered() {
    const TaskGraph graph = builder_.graph();
    const Program& program = graph.programs[program_];
    return CommunicationOrder(graph, program, communications_of(graph, program)).ordered(0, 1);
  }
  GraphBuilder builder_{MeshShape{.tp = 2, .dp = 2, .edp = 4}};
  ProgramId program_ = builder_.add_program();
};

TEST_F(Order, EdgesThroughComputationsOrder) {
  const std::uint32_t a = collective(Axis::Tensor, Lane::Tensor, {compute()});
  const std::uint32_t b = collective(Axis::Data, Lane::Data, {compute({a})});
  collective(Axis::Tensor, Lane::Tensor, {compute({b})});
  EXPECT_TRUE(ordered());
}

TEST_F(Order, OnePairSideBySideIsEnoughToMeet) {
  const std::uint32_t a = collective(Axis::Tensor, Lane::Tensor, {compute()});
  const std::uint32_t c = compute({a});
  collective(Axis::Data, Lane::Data, {c});
  collective(Axis::Tensor, Lane::Tensor, {c});
  EXPECT_FALSE(ordered());
}

TEST_F(Order, OneLaneOrders) {
  collective(Axis::Tensor, Lane::Data, {});
  collective(Axis::Data, Lane::Data, {});
  EXPECT_TRUE(ordered());
}

}  // namespace
}  // namespace tandem
