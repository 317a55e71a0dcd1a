// The choice of experts, its gradient, and rows that go to experts and back.
#include "exec/cpu/kernels/router.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

constexpr RouterShape shape = {.rows = 13, .experts = 6, .top_k = 3};

TEST(ChooseExperts, TakesTheHighestAndTheLowerIndexOfEquals) {
  const std::vector<float> logits = {1, 3, 2, 3, 0, 3};
  std::vector<std::int32_t> experts(3);
  std::vector<float> weights(3);
  choose_experts<float>({.rows = 1, .experts = 6, .top_k = 3}, logits.data(), experts.data(), weights.data());
  EXPECT_EQ(experts, (std::vector<std::int32_t>{1, 3, 5}));
  EXPECT_FLOAT_EQ(weights[0], 1.0f / 3);
}

template <class T>
class RouterKernel : public ::testing::Test {
 protected:
  static constexpr std::int64_t slots = 13 * 3, width = 5;
  RouterKernel() {
    choose_experts(shape, logits.data(), experts.data(), weights.data());
    sort_by_expert(shape, experts.data(), counts.data(), positions.data());
  }
  std::vector<T> logits = random_values<T>(13 * 6, 1, 2), x = random_values<T>(13 * width, 2),
                 routed = random_values<T>(slots * width, 3);
  std::vector<std::int32_t> experts = std::vector<std::int32_t>(slots), positions = experts;
  std::vector<float> weights = std::vector<float>(slots);
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(6);

  // y [rows, width] of the definition of combine.
  Doubles combined(const Doubles& values, const Doubles& w) const {
    Doubles y(13 * width);
    for (std::size_t slot = 0; slot < slots; ++slot)
      for (std::size_t j = 0; j < width; ++j)
        y[slot / 3 * width + j] += w[slot] * values[static_cast<std::size_t>(positions[slot]) * width + j];
    return y;
  }
};
TYPED_TEST_SUITE(RouterKernel, StorageTypes);

TYPED_TEST(RouterKernel, BalancedChoicesGiveEachExpertEquallyManyRows) {
  const RouterShape shape{.rows = 6, .experts = 4, .top_k = 2, .balanced = true};
  const std::vector<TypeParam> logits(24);
  std::vector<std::int32_t> experts(12);
  std::vector<float> weights(12);
  choose_experts<TypeParam>(shape, logits.data(), experts.data(), weights.data());
  for (std::int32_t e = 0; e < 4; ++e) EXPECT_EQ(std::count(experts.begin(), experts.end(), e), 3);
  EXPECT_EQ(weights, std::vector<float>(12, 0.5f));
}

TYPED_TEST(RouterKernel, GradientAgreesWithDifferences) {
  using T = TypeParam;
  const std::vector<float> dweights = random_values(this->slots, 4);
  const auto loss = [&](const Doubles& logits) {
    double total = 0;
    for (std::size_t i = 0; i < 13; ++i) {
      double sum = 0, product = 0;
      for (std::size_t slot = 3 * i; slot < 3 * i + 3; ++slot) {
        const double e = std::exp(logits[i * 6 + static_cast<std::size_t>(this->experts[slot])]);
        sum += e;
        product += e * static_cast<double>(dweights[slot]);
      }
      total += product / sum;
    }
    return total;
  };
  std::vector<T> dlogits = filled<T>(13 * 6, 9);
  router_backward(shape, this->experts.data(), this->weights.data(), dweights.data(), dlogits.data());
  EXPECT_LT(deviation(dlogits, numeric_gradient(loss, doubles(this->logits))), tolerance<T>);
}
TYPED_TEST(RouterKernel, SortsSlotsByExpertAndKeepsTheirOrder) {
  std::vector<int> slot_at(this->slots, -1);
  for (int slot = 0; slot < this->slots; ++slot) slot_at.at(this->positions[slot]) = slot;
  std::int64_t place = 0;
  for (int e = 0; e < 6; ++e)
    for (std::int64_t i = 0; i < this->counts[e]; ++i, ++place) {
      EXPECT_EQ(this->experts[slot_at[place]], e);
      if (i > 0) {
        EXPECT_LT(slot_at[place - 1], slot_at[place]);
      }
    }
  EXPECT_EQ(place, this->slots);
}
TYPED_TEST(RouterKernel, DispatchCopiesRowsAndItsGradientSumsThem) {
  using T = TypeParam;
  std::vector<T> y = filled<T>(this->slots * this->width, 9), dx = filled<T>(13 * this->width, 9);
  dispatch_rows(shape, this->width, this->positions.data(), this->x.data(), y.data());
  for (int slot = 0; slot < this->slots; ++slot)
    for (int j = 0; j < 5; ++j)
      EXPECT_EQ(to_float(y[this->positions[slot] * 5 + j]), to_float(this->x[slot / 3 * 5 + j]));
  dispatch_rows_backward(shape, this->width, this->positions.data(), this->routed.data(), dx.data());
  EXPECT_LT(deviation(dx, this->combined(doubles(this->routed), Doubles(this->slots, 1))), tolerance<T>);
}
TYPED_TEST(RouterKernel, CombineWeighsRowsAndItsGradientsAgreeWithDifferences) {
  using T = TypeParam;
  const std::vector<T> dy = random_values<T>(13 * this->width, 7);
  std::vector<T> y = filled<T>(13 * this->width, 9), dx = filled<T>(this->slots * this->width, 9);
  std::vector<float> dweights = filled<float>(this->slots, 9);
  combine_rows(shape, this->width, this->positions.data(), this->weights.data(), this->routed.data(), y.data());
  combine_rows_backward(shape, this->width, this->positions.data(), this->weights.data(), this->routed.data(),
                        dy.data(), dx.data(), dweights.data());
  const Doubles x = doubles(this->routed), w = doubles(this->weights), g = doubles(dy);
  EXPECT_LT(deviation(y, this->combined(x, w)), tolerance<T>);
  const auto of_x = numeric_gradient([&](const Doubles& at) { return dot(this->combined(at, w), g); }, x);
  const auto of_w = numeric_gradient([&](const Doubles& at) { return dot(this->combined(x, at), g); }, w);
  EXPECT_LT(deviation(dx, of_x), tolerance<T>);
  EXPECT_LT(deviation(dweights, of_w), 1e-5);
}
TYPED_TEST(RouterKernel, NegativePositionsLeaveASlotOut) {
  using T = TypeParam;
  this->positions[4] = -1;
  std::vector<T> y = filled<T>(13 * this->width, 9);
  combine_rows(shape, this->width, this->positions.data(), this->weights.data(), this->routed.data(), y.data());
  this->positions[4] = 0;
  Doubles w = doubles(this->weights);
  w[4] = 0;
  EXPECT_LT(deviation(y, this->combined(doubles(this->routed), w)), tolerance<T>);
}

}  // namespace
}  // namespace tandem::cpu
