// Rotary embedding against the rotation's formula.
#include "exec/cpu/kernels/rotary.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

constexpr RotaryShape shape = {
    .rows = 4, .heads = 3, .kv_heads = 2, .head_dim = 12, .v_head_dim = 7, .rotary_dim = 8, .base = 500};
constexpr std::int64_t width = 5 * 12 + 2 * 7;
constexpr std::int32_t positions[] = {0, 3, 100'000, 17};

Doubles reference(const Doubles& qkv, double direction) {
  Doubles out = qkv;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t head = 0; head < 5; ++head)
      for (std::size_t j = 0; j < 4; ++j) {
        const double angle = direction * positions[i] * std::pow(500.0, -static_cast<double>(2 * j) / 8);
        const std::size_t at = i * width + head * 12 + j;
        out[at] = qkv[at] * std::cos(angle) - qkv[at + 4] * std::sin(angle);
        out[at + 4] = qkv[at + 4] * std::cos(angle) + qkv[at] * std::sin(angle);
      }
  return out;
}

template <class T>
class RotaryKernel : public ::testing::Test {};
TYPED_TEST_SUITE(RotaryKernel, StorageTypes);

TYPED_TEST(RotaryKernel, RotatesQueriesAndKeysAndCopiesTheRest) {
  using T = TypeParam;
  const std::vector<T> qkv = random_values<T>(4 * width, 1);
  std::vector<T> out = filled<T>(4 * width, 9);
  Scratch scratch;
  rotary_forward(shape, positions, qkv.data(), out.data(), scratch);
  EXPECT_LT(deviation(out, reference(doubles(qkv), 1)), tolerance<T>);
  EXPECT_EQ(to_float(out[8]), to_float(qkv[8]));                  // behind rotary_dim
  EXPECT_EQ(to_float(out[width - 1]), to_float(qkv[width - 1]));  // a value
}
TYPED_TEST(RotaryKernel, BackwardIsTheInverseAlsoInPlace) {
  using T = TypeParam;
  std::vector<T> gradient = random_values<T>(4 * width, 1);
  const Doubles expected = reference(doubles(gradient), -1);
  Scratch scratch;
  rotary_backward(shape, positions, gradient.data(), gradient.data(), scratch);
  EXPECT_LT(deviation(gradient, expected), tolerance<T>);
}

}  // namespace
}  // namespace tandem::cpu
