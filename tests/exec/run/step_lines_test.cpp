// The line that a person reads after each step.
#include "exec/run/step_lines.h"

#include <gmock/gmock.h>

namespace tandem {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StepLine line() {
  return {.step = 3,
          .steps = 10,
          .loss = 4.5,
          .floor = 1.25,
          .tokens = 1024,
          .mfu = 0.345,
          .duration = Seconds(0.5),
          .left = Seconds(3.5),
          .memory = gibibytes(2)};
}

TEST(StepLine, SaysHowFarAndHowFast) {
  EXPECT_THAT(text(line()), HasSubstr("step 3/10  loss 4.5000 (floor 1.2500)  2.048 k tokens/s  MFU 34.5 %"));
}
TEST(StepLine, SaysWhatIsLeft) {
  EXPECT_THAT(text(line()), HasSubstr("4 s left"));
  StepLine long_one = line();
  long_one.left = Seconds(600);
  EXPECT_THAT(text(long_one), HasSubstr("10 min left"));
}
TEST(StepLine, LeavesOutWhatIsNotKnown) {
  StepLine bare = line();
  bare.floor = bare.mfu = std::nullopt;
  EXPECT_THAT(text(bare), Not(HasSubstr("floor")));
  EXPECT_THAT(text(bare), Not(HasSubstr("MFU")));
}

}  // namespace
}  // namespace tandem
