// Schedules as text, at every scale.
#include "core/plan/draw_schedule.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tandem {
namespace {

TEST(DrawSchedule, LabelsEverySlotWhereThereIsRoom) {
  EXPECT_EQ(draw(one_forward_one_backward({.stages = 2, .microbatches = 2}), 40),
            "stage 0 F0 F1 ......B0--- ...B1---\n"
            "stage 1 ...F0 B0--- F1 B1--- ......\n"
            "F forward; B backward; . idle\n");
}

TEST(DrawSchedule, DrawsOneColumnAUnitWhereThereIsLess) {
  EXPECT_EQ(draw(one_forward_one_backward({.stages = 2, .microbatches = 3}), 21),
            "stage 0 01..aa2bb.cc\n"
            "stage 1 .0aa1bb2cc..\n"
            "0-9 forward, a-j backward, by last digit of the microbatch\n"
            ". idle\n");
}

TEST(DrawSchedule, PutsSecondChunksInLowerCase) {
  const std::string drawing = draw(zero_bubble_v({.stages = 1, .microbatches = 1, .chunks_per_stage = 2}), 60);
  EXPECT_EQ(drawing.substr(0, drawing.find('\n')), "stage 0 F0 f0 i0 w0 I0 W0");
}

TEST(DrawSchedule, NeverIsWiderThanAsked) {
  for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::ZeroBubbleH1, ScheduleKind::DualPipe})
    for (std::size_t width : {60, 100, 200, 400}) {
      std::istringstream lines(draw(make_schedule(kind, {.stages = 12, .microbatches = 30}), width));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), width) << name(kind) << "\n" << line;
    }
}

TEST(DrawSchedule, LeavesMiddleStagesOutWhenThereAreMany) {
  const std::string drawing = draw(gpipe({.stages = 100, .microbatches = 4}), 80, 10);
  EXPECT_NE(drawing.find("... 90 stages ...\nstage 95"), std::string::npos);
  EXPECT_EQ(drawing.find("stage 50"), std::string::npos);
}

}  // namespace
}  // namespace tandem
