// Activations against their formulas in double, gradients against differences.
#include "exec/cpu/kernels/activation.h"

#include <numbers>

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

constexpr Activation all[] = {Activation::Gelu, Activation::Relu, Activation::Silu, Activation::Tanh};

double reference(Activation activation, double x) {
  switch (activation) {
    case Activation::Gelu:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Relu:
      return std::max(x, 0.0);
    case Activation::Silu:
      return x / (1 + std::exp(-x));
    case Activation::Tanh:
      return std::tanh(x);
  }
  return 0;
}
Doubles reference(Activation activation, const Doubles& x) {
  Doubles y;
  for (const double value : x) y.push_back(reference(activation, value));
  return y;
}
Doubles gated_reference(Activation activation, std::size_t width, const Doubles& x) {
  Doubles y;
  for (std::size_t row = 0; row < x.size(); row += 2 * width)
    for (std::size_t j = 0; j < width; ++j) y.push_back(reference(activation, x[row + j]) * x[row + width + j]);
  return y;
}

template <class T>
class ActivationKernel : public ::testing::Test {};
TYPED_TEST_SUITE(ActivationKernel, StorageTypes);

TYPED_TEST(ActivationKernel, PlainAgreesWithTheFormulaAndItsDifferences) {
  using T = TypeParam;
  const std::vector<T> x = random_values<T>(333, 1, 6), dy = random_values<T>(333, 2);
  for (const Activation activation : all) {
    std::vector<T> y = filled<T>(333, 9), dx = filled<T>(333, 9);
    activation_forward(activation, 333, x.data(), y.data());
    activation_backward(activation, 333, x.data(), dy.data(), dx.data());
    EXPECT_LT(deviation(y, reference(activation, doubles(x))), tolerance<T>);
    const auto loss = [&](const Doubles& at) { return dot(reference(activation, at), doubles(dy)); };
    EXPECT_LT(deviation(dx, numeric_gradient(loss, doubles(x))), tolerance<T>);
  }
}
TYPED_TEST(ActivationKernel, GatedMultipliesTheOtherHalf) {
  using T = TypeParam;
  constexpr std::int64_t rows = 5, width = 19;
  const std::vector<T> x = random_values<T>(rows * 2 * width, 1, 4), dy = random_values<T>(rows * width, 2);
  for (const Activation activation : all) {
    std::vector<T> y = filled<T>(rows * width, 9), dx = filled<T>(rows * 2 * width, 9);
    gated_activation_forward(activation, rows, width, x.data(), y.data());
    gated_activation_backward(activation, rows, width, x.data(), dy.data(), dx.data());
    EXPECT_LT(deviation(y, gated_reference(activation, width, doubles(x))), tolerance<T>);
    const auto loss = [&](const Doubles& at) {
      return dot(gated_reference(activation, width, at), doubles(dy));
    };
    EXPECT_LT(deviation(dx, numeric_gradient(loss, doubles(x))), tolerance<T>);
  }
}
TEST(ActivationKernelOfFloats, StaysFiniteFarOut) {
  const std::vector<float> x = {-1e6f, -200, 200, 1e6f};
  for (const Activation activation : all) {
    std::vector<float> y(4), dx(4), dy(4, 1);
    activation_forward<float>(activation, 4, x.data(), y.data());
    activation_backward<float>(activation, 4, x.data(), dy.data(), dx.data());
    EXPECT_LT(deviation(y, reference(activation, doubles(x))), 1e-6);
    EXPECT_NEAR(dx[0], 0, 1e-6);
    EXPECT_NEAR(dx[3], activation == Activation::Tanh ? 0 : 1, 1e-6);
  }
}

}  // namespace
}  // namespace tandem::cpu
