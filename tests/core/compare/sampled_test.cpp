// Medians, spreads and deviations.
#include "core/compare/sampled.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Sampled, MedianAndInterquartileRangeAreThoseOfNumpy) {
  const auto five = sampled(std::vector<double>{5, 1, 4, 2, 9});
  EXPECT_EQ(five.median, 4);
  EXPECT_EQ(five.spread, 3);  // numpy.percentile: 5 - 2
  EXPECT_EQ(five.steps, 5u);
  const auto four = sampled(std::vector<double>{1, 2, 3, 10});
  EXPECT_EQ(four.median, 2.5);
  EXPECT_EQ(four.spread, 3);  // 4.75 - 1.75
}
TEST(Sampled, OfNothingIsNotThere) { EXPECT_EQ(sampled(std::vector<Seconds>{}).steps, 0u); }

Compared<Seconds> pair(double a, double b, double spread = 0) {
  return {{Seconds(a), Seconds(spread), 3}, {Seconds(b), Seconds(0), 3}};
}
TEST(Deviation, IsPredictionMinusMeasurementOverMeasurement) {
  EXPECT_DOUBLE_EQ(*pair(11, 10).deviation(), 0.1);
  EXPECT_DOUBLE_EQ(*pair(9, 10).deviation(), -0.1);
}
TEST(Deviation, FromNothingCannotBeSaid) {
  EXPECT_FALSE(pair(1, 0).deviation().has_value());
  EXPECT_EQ(pair(0, 0).deviation(), 0.0);
}
TEST(Deviation, IsWithinTheSpreadOfTheMoreRestlessRecord) {
  EXPECT_TRUE(pair(10, 10.4, 0.5).within_spread());
  EXPECT_FALSE(pair(10, 10.6, 0.5).within_spread());
}

}  // namespace
}  // namespace tandem
