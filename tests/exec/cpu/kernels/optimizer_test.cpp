// Updates against their published formulas in double.
#include "exec/cpu/kernels/optimizer.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

constexpr std::int64_t count = 1000;

TEST(AdamWUpdate, FollowsThePublishedAlgorithmOverThreeSteps) {
  std::vector<float> master = random_values(count, 1), m(count), v(count);
  std::vector<Bf16> working(count);
  Doubles w = doubles(master), first(count), second(count);
  for (int step = 1; step <= 3; ++step) {
    const std::vector<float> gradient = random_values(count, 10 + step);
    adamw({.learning_rate = 0.01f,
           .beta1 = 0.9f,
           .beta2 = 0.95f,
           .weight_decay = 0.1f,
           .step = step,
           .gradient_scale = 0.5f},
          count, gradient.data(), master.data(), m.data(), v.data(), working.data());
    for (std::size_t i = 0; i < count; ++i) {
      const double g = 0.5 * static_cast<double>(gradient[i]);
      first[i] = 0.9 * first[i] + 0.1 * g;
      second[i] = 0.95 * second[i] + 0.05 * g * g;
      const double mean = first[i] / (1 - std::pow(0.9, step)), square = second[i] / (1 - std::pow(0.95, step));
      w[i] -= 0.01 * (mean / (std::sqrt(square) + 1e-8) + 0.1 * w[i]);
    }
  }
  EXPECT_LT(deviation(master, w), 1e-6);
  EXPECT_LT(deviation(m, first), 1e-6);
  EXPECT_LT(deviation(v, second), 1e-6);
  EXPECT_EQ(to_float(working[7]), to_float(rounded<Bf16>(master[7])));
}
TEST(SgdUpdate, KeepsAVelocity) {
  std::vector<float> master = {1}, velocity = {2};
  const std::vector<float> gradient = {4};
  sgd({.learning_rate = 0.1f, .momentum = 0.5f, .weight_decay = 0.25f, .gradient_scale = 0.5f}, 1,
      gradient.data(), master.data(), velocity.data(), nullptr);
  EXPECT_FLOAT_EQ(velocity[0], 0.5f * 2 + 0.5f * 4 + 0.25f * 1);
  EXPECT_FLOAT_EQ(master[0], 1 - 0.1f * 3.25f);
}
TEST(SumOfSquares, IsFormedInDoubleWithTheSameBitsForAnyTeam) {
  const std::vector<float> x = random_values(100'001, 1);
  double expected = 0;
  for (const float value : x) expected += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(sum_of_squares(100'001, x.data()) / expected, 1, 1e-12);
  expect_same_bits_with_any_team([&] { return Doubles{sum_of_squares(100'001, x.data())}; });
}

}  // namespace
}  // namespace tandem::cpu
