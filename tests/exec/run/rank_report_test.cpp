// Reports survive the way between processes.
#include "exec/run/rank_report.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(RankReport, ComesOutAsItWentIn) {
  const RankReport report{7, 10, 20, 2.5, 0.5, 100, 3, 400, {{11, 12}, {13, 19}}};
  const RankReport copy = unpacked(packed(report));
  EXPECT_EQ(copy.step, 7);
  EXPECT_EQ(copy.end, 20);
  EXPECT_EQ(copy.loss, 2.5);
  EXPECT_EQ(copy.resident_bytes, 400u);
  ASSERT_EQ(copy.tasks.size(), 2u);
  EXPECT_EQ(copy.tasks[1].end, 19);
}
TEST(RankReport, WithoutTasksIsAReport) { EXPECT_TRUE(unpacked(packed({})).tasks.empty()); }
TEST(RankReport, APartOfOneIsRefused) {
  std::vector<std::byte> bytes = packed({});
  bytes.pop_back();
  EXPECT_THROW(unpacked(bytes), std::logic_error);
}

}  // namespace
}  // namespace tandem
