// Reading one clock by another.
#include "exec/communicate/clock_alignment.h"

#include "tests/exec/communicate/run_ranks.h"

namespace tandem {
namespace {

TEST(ClockSample, OfRanksThatShareAClockIsZeroWithinTheRoundTrip) {
  run_ranks(3, [](Transport& transport) {
    const ClockSample sample = sample_clock(transport, 3, 20);
    EXPECT_LE(std::abs(sample.offset), sample.round_trip / 2 + 1);
    EXPECT_EQ(sample.round_trip == 0, transport.rank() == 0);
  });
}

TEST(ClockAlignment, FollowsOffsetAndDrift) {
  // 1 ms ahead, and 2 us a second faster.
  const ClockSample samples[] = {{5'000'000'000, 1'000'000, 800}, {15'000'000'000, 1'020'000, 600}};
  const ClockAlignment line = align_clock(samples);
  EXPECT_NEAR(line.drift, 2e-6, 1e-12);
  EXPECT_EQ(line.to_rank_0(10'000'000'000), 10'001'010'000);
  EXPECT_EQ(line.residual, 0);
  EXPECT_EQ(line.uncertainty, 400);
}

TEST(ClockAlignment, StatesHowFarSamplesLieFromTheLine) {
  const ClockSample samples[] = {{0, 0, 10}, {1'000'000'000, 300, 10}, {2'000'000'000, 0, 10}};
  const ClockAlignment line = align_clock(samples);
  EXPECT_NEAR(line.drift, 0, 1e-12);
  EXPECT_EQ(line.offset, 100);
  EXPECT_EQ(line.residual, 200);
}

TEST(ClockAlignment, OfOneSampleIsItsOffset) {
  const ClockSample sample{100, 7, 10};
  EXPECT_EQ(align_clock(std::span(&sample, 1)).to_rank_0(200), 207);
}

}  // namespace
}  // namespace tandem
