// The drawn schedule: letters, microbatches, bubbles.
#include "core/record/schedule_text.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/random_record.h"
#include "tests/support/record_builder.h"

namespace tandem {
namespace {

using testing::RecordBuilder;

TEST(ScheduleText, DrawsOneForwardOneBackward) {
  RecordBuilder builder;
  builder.rank(0, 0).rank(4, 1);
  builder.compute(0, Phase::Forward, 0, 1, 0);
  builder.compute(0, Phase::Forward, 1, 2, 1);
  builder.compute(0, Phase::InputGradient, 4, 6, 0);
  builder.compute(0, Phase::InputGradient, 7, 9, 1);
  builder.held(builder.compute(4, Phase::Forward, 1, 2, 0), HeldBy::Peer);
  builder.compute(4, Phase::InputGradient, 2, 4, 0);
  builder.compute(4, Phase::Forward, 4, 5, 1);
  builder.compute(4, Phase::InputGradient, 5, 7, 1);
  EXPECT_EQ(schedule_text(builder.record(), {.width = 9}),
            "0 s to 9 s, 1 s a cell\n"
            "stage 0   |FF..BB.BB| bubble 0.0 %\n"
            "          |01  00 11|\n"
            "stage 1   |.FBBFBB..| bubble 33.3 %\n"
            "          | 000111  |\n"
            "F forward, B backward, . idle; below: last digit of the microbatch\n");
}

TEST(ScheduleText, MarksCommunicationWhileNothingIsComputed) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1, 12);
  builder.collective(0, Lane::Tensor, 1, 2);
  builder.compute(0, Phase::WeightGradient, 2, 3, 3);
  builder.collective(0, Lane::Data, 2, 4);
  const std::string drawn = schedule_text(builder.record(), {.width = 4});
  EXPECT_NE(drawn.find("|FtWd|"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("|2 3 |"), std::string::npos) << drawn;
  EXPECT_NE(schedule_text(builder.record(), {.width = 4, .communication = false}).find("|F.W.|"),
            std::string::npos);
}

TEST(ScheduleText, ShowsAPartOfTheStep) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1, 0);
  builder.compute(0, Phase::Update, 1, 2, no_microbatch);
  const std::string drawn =
      schedule_text(builder.record(), {.width = 2, .start = Seconds(1), .end = Seconds(2)});
  EXPECT_NE(drawn.find("|UU|"), std::string::npos) << drawn;
}

TEST(ScheduleText, HasTheSameWidthEverywhere) {
  for (std::uint32_t seed = 0; seed < 20; ++seed)
    for (const std::size_t width : {1u, 7u, 100u}) {
      const std::string drawn = schedule_text(testing::random_record(seed), {.width = width});
      std::size_t rows = 0;
      std::istringstream lines(drawn);
      for (std::string line; std::getline(lines, line);) {
        const std::size_t open = line.find('|'), close = line.rfind('|');
        if (open == std::string::npos) continue;
        EXPECT_EQ(close - open - 1, width);
        ++rows;
      }
      EXPECT_GT(rows, 0u);
    }
}

}  // namespace
}  // namespace tandem
