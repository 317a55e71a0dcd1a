// Norms against their formulas in double, gradients against differences.
#include "exec/cpu/kernels/norm.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

Doubles reference(const NormShape& shape, const Doubles& x, const Doubles& weight, const Doubles& bias) {
  const auto n = static_cast<std::size_t>(shape.width);
  Doubles y(x.size());
  for (std::size_t first = 0; first < x.size(); first += n) {
    double mean = 0, square = 0;
    if (shape.norm == Norm::Layer)
      for (std::size_t j = 0; j < n; ++j) mean += x[first + j] / static_cast<double>(n);
    for (std::size_t j = 0; j < n; ++j) square += std::pow(x[first + j] - mean, 2) / static_cast<double>(n);
    for (std::size_t j = 0; j < n; ++j)
      y[first + j] =
          (x[first + j] - mean) / std::sqrt(square + static_cast<double>(shape.epsilon)) * weight[j] + bias[j];
  }
  return y;
}

template <class T>
class NormKernel : public ::testing::Test {
 protected:
  static constexpr std::int64_t rows = 19, width = 21;
  std::vector<T> x = random_values<T>(rows * width, 1, 2), weight = random_values<T>(width, 2),
                 bias = random_values<T>(width, 3), dy = random_values<T>(rows * width, 4);
  Scratch scratch;
};
TYPED_TEST_SUITE(NormKernel, StorageTypes);

TYPED_TEST(NormKernel, ForwardFollowsTheFormula) {
  using T = TypeParam;
  for (const Norm norm : {Norm::Layer, Norm::Rms}) {
    const NormShape shape = {.norm = norm, .rows = this->rows, .width = this->width};
    std::vector<T> y = filled<T>(this->rows * this->width, 5);
    norm_forward(shape, this->x.data(), this->weight.data(), this->bias.data(), y.data());
    EXPECT_LT(deviation(y, reference(shape, doubles(this->x), doubles(this->weight), doubles(this->bias))),
              tolerance<T>);
    norm_forward<T>(shape, this->x.data(), this->weight.data(), nullptr, y.data());
    EXPECT_LT(deviation(y, reference(shape, doubles(this->x), doubles(this->weight), Doubles(this->width))),
              tolerance<T>);
  }
}
TYPED_TEST(NormKernel, GradientsAgreeWithDifferences) {
  using T = TypeParam;
  for (const Norm norm : {Norm::Layer, Norm::Rms}) {
    const NormShape shape = {.norm = norm, .rows = this->rows, .width = this->width};
    const Doubles x = doubles(this->x), w = doubles(this->weight), b = doubles(this->bias),
                  dy = doubles(this->dy);
    std::vector<T> dx = filled<T>(this->rows * this->width, 5);
    std::vector<float> dweight = filled<float>(this->width), dbias = filled<float>(this->width);
    norm_backward(shape, this->x.data(), this->weight.data(), this->dy.data(), Write::Replace, dx.data(),
                  dweight.data(), dbias.data(), this->scratch);
    const auto of_x =
        numeric_gradient([&](const Doubles& at) { return dot(reference(shape, at, w, b), dy); }, x);
    const auto of_w =
        numeric_gradient([&](const Doubles& at) { return dot(reference(shape, x, at, b), dy); }, w);
    const auto of_b =
        numeric_gradient([&](const Doubles& at) { return dot(reference(shape, x, w, at), dy); }, b);
    EXPECT_LT(deviation(dx, of_x), tolerance<T>);
    EXPECT_LT(deviation(dweight, of_w), 1e-5);
    EXPECT_LT(deviation(dbias, of_b), 1e-5);
  }
}
TYPED_TEST(NormKernel, GradientsAreAddedWhereAsked) {
  using T = TypeParam;
  const NormShape shape = {.rows = this->rows, .width = this->width};
  std::vector<T> once = filled<T>(this->rows * this->width), added = filled<T>(this->rows * this->width, 2);
  std::vector<float> dweight = filled<float>(this->width), twice = filled<float>(this->width);
  const auto run = [&](Write write, std::vector<T>& dx, std::vector<float>& dw) {
    norm_backward<T>(shape, this->x.data(), this->weight.data(), this->dy.data(), write, dx.data(), dw.data(),
                     nullptr, this->scratch);
  };
  run(Write::Replace, once, dweight);
  run(Write::Accumulate, added, twice);
  run(Write::Replace, once, twice);
  Doubles expected = doubles(once), doubled = doubles(dweight);
  for (double& value : expected) value += 2;
  for (double& value : doubled) value *= 2;
  EXPECT_LT(deviation(added, expected), tolerance<T>);
  EXPECT_LT(deviation(twice, doubled), 1e-6);
}
TYPED_TEST(NormKernel, HasTheSameBitsWithAnyTeam) {
  using T = TypeParam;
  const NormShape shape = {.rows = 300, .width = 257};
  const std::vector<T> x = random_values<T>(300 * 257, 1), dy = random_values<T>(300 * 257, 2),
                       w = random_values<T>(257, 3);
  expect_same_bits_with_any_team([&] {
    std::vector<T> dx = filled<T>(300 * 257);
    std::vector<float> gradients = filled<float>(2 * 257);
    norm_backward(shape, x.data(), w.data(), dy.data(), Write::Replace, dx.data(), gradients.data(),
                  gradients.data() + 257, this->scratch);
    return gradients;
  });
}

}  // namespace
}  // namespace tandem::cpu
