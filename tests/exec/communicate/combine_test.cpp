// Sums, maxima and scaling of each number format.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "exec/communicate/element_type.h"
#include "tests/exec/communicate/run_ranks.h"

namespace tandem {
namespace {

template <class T>
std::vector<T> combined(ElementType type, Reduction reduction, std::vector<T> into, std::vector<T> from) {
  combine(type, reduction, bytes_of(into).data(), bytes_of(from).data(), bytes_of(into).size());
  return into;
}
// Exact for the values used here.
std::uint16_t bf16(float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); }

TEST(Combine, AddsEveryNumberFormat) {
  EXPECT_EQ(combined<float>(ElementType::Float, Reduction::Sum, {1, 2, 3}, {4, 5, 6}),
            (std::vector<float>{5, 7, 9}));
  EXPECT_EQ(combined<double>(ElementType::Double, Reduction::Sum, {1e300}, {1e300}),
            std::vector<double>{2e300});
  EXPECT_EQ(combined<std::int32_t>(ElementType::Int32, Reduction::Sum, {-3}, {5}),
            std::vector<std::int32_t>{2});
  EXPECT_EQ(combined<std::uint16_t>(ElementType::Bf16, Reduction::Sum, {bf16(1.5f)}, {bf16(2)}),
            std::vector<std::uint16_t>{bf16(3.5f)});
}

TEST(Combine, TakesTheLargerOfEveryNumberFormat) {
  EXPECT_EQ(combined<float>(ElementType::Float, Reduction::Max, {1, -2}, {-4, 5}), (std::vector<float>{1, 5}));
  EXPECT_EQ(combined<std::int32_t>(ElementType::Int32, Reduction::Max, {-3}, {-5}),
            std::vector<std::int32_t>{-3});
  EXPECT_EQ(combined<std::uint16_t>(ElementType::Bf16, Reduction::Max, {bf16(-1)}, {bf16(2)}),
            std::vector<std::uint16_t>{bf16(2)});
}

TEST(Combine, RoundsBf16ToNearestAndTiesToEven) {
  // Numbers between 1 and 2 lie 2^-7 apart.
  const auto sum = [](float a, float b) {
    return combined<std::uint16_t>(ElementType::Bf16, Reduction::Sum, {bf16(a)}, {bf16(b)})[0];
  };
  EXPECT_EQ(sum(1, std::ldexp(1.0f, -8)), bf16(1));  // a tie, down to even
  EXPECT_EQ(sum(1 + std::ldexp(1.0f, -7), std::ldexp(1.0f, -8)), bf16(1 + std::ldexp(1.0f, -6)));  // a tie, up
  EXPECT_EQ(sum(1, std::ldexp(1.5f, -8)), bf16(1 + std::ldexp(1.0f, -7)));
}

TEST(Combine, KeepsWhatIsNoNumberInBf16) {
  const std::uint16_t nan = bf16(std::numeric_limits<float>::quiet_NaN());
  const std::uint16_t sum = combined<std::uint16_t>(ElementType::Bf16, Reduction::Sum, {nan}, {bf16(1)})[0];
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(sum) << 16)));
}

TEST(Combine, RefusesBytes) {
  EXPECT_THROW(combined<char>(ElementType::Byte, Reduction::Sum, {1}, {1}), std::logic_error);
}

TEST(Scale, MultipliesFloatingPointNumbersAlone) {
  std::vector<float> x = {2, 4};
  scale(ElementType::Float, bytes_of(x).data(), 8, 0.5);
  EXPECT_EQ(x, (std::vector<float>{1, 2}));
  std::vector<std::uint16_t> y = {bf16(3)};
  scale(ElementType::Bf16, bytes_of(y).data(), 2, 0.5);
  EXPECT_EQ(y[0], bf16(1.5f));
  std::vector<std::int32_t> z = {3};
  EXPECT_THROW(scale(ElementType::Int32, bytes_of(z).data(), 4, 0.5), std::logic_error);
}

}  // namespace
}  // namespace tandem
