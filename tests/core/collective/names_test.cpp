// Names and bus factors of collectives.
#include <gtest/gtest.h>

#include "core/collective/collective.h"

namespace tandem {
namespace {

TEST(CollectiveNames, ReadBackAsTheyArePrinted) {
  for (int i = 0; i < 7; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    EXPECT_EQ(parse_collective_kind(name(kind)), kind);
  }
  for (int i = 0; i < 7; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(parse_algorithm(name(algorithm)), algorithm);
  }
  EXPECT_EQ(parse_collective_kind("alltoall"), CollectiveKind::AllToAll);
  EXPECT_FALSE(parse_collective_kind("allreduce!"));
  EXPECT_FALSE(parse_algorithm(""));
}

TEST(BusFactor, FollowsNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::ReduceScatter, 2), 0.5);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllToAll, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::Broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::AllReduce, 1), 0);
}

}  // namespace
}  // namespace tandem
