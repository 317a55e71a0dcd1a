// Storage types and the exponential.
#include "exec/cpu/kernels/element.h"

#include "exec/cpu/kernels/exponential.h"
#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

TEST(Bf16Rounding, GoesToTheNearestAndFromTheMiddleToEven) {
  EXPECT_EQ(to_float(rounded<Bf16>(1.0f + 1.0f / 512)), 1.0f);
  EXPECT_EQ(to_float(rounded<Bf16>(1.0f + 3.0f / 256)), 1.0f + 2.0f / 128);
  EXPECT_EQ(to_float(rounded<Bf16>(1.0f + 1.0f / 256)), 1.0f);
  EXPECT_EQ(to_float(rounded<Bf16>(-1.0f - 1.1f / 256)), -1.0f - 1.0f / 128);
}
TEST(Bf16Rounding, KeepsInfinityAndNotANumber) {
  EXPECT_EQ(to_float(rounded<Bf16>(INFINITY)), INFINITY);
  EXPECT_TRUE(std::isnan(to_float(rounded<Bf16>(std::bit_cast<float>(0x7fffffffu)))));
}
TEST(Exponential, AgreesWithTheLibrary) {
  double worst = 0;
  for (float x = -79.9f; x < 80; x += 0.013f)
    worst =
        std::max(worst, std::abs(static_cast<double>(exponential(x)) / std::exp(static_cast<double>(x)) - 1));
  // The product with log2(e) alone loses |x| 2^-24.
  EXPECT_LT(worst, 8e-6);
  double near = 0;
  for (float x = -1; x <= 1; x += 0.0013f)
    near = std::max(near, std::abs(static_cast<double>(exponential(x)) / std::exp(static_cast<double>(x)) - 1));
  EXPECT_LT(near, 3e-7);
}
TEST(Exponential, IsExactlyOneAtZeroAndZeroFarBelow) {
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-80.5f), 0);
  EXPECT_EQ(exponential(-INFINITY), 0);
}

}  // namespace
}  // namespace tandem::cpu
