// Sums, copies and scalings.
#include "exec/cpu/kernels/elementwise.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

template <class T>
class ElementwiseKernel : public ::testing::Test {
 protected:
  static constexpr std::int64_t rows = 7, width = 9, count = rows * width;
  std::vector<T> a = random_values<T>(count, 1), b = random_values<T>(count, 2), c = random_values<T>(count, 3);

  template <class F>
  static Doubles each(const F& f) {
    Doubles result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(f(i));
    return result;
  }
};
TYPED_TEST_SUITE(ElementwiseKernel, StorageTypes);

TYPED_TEST(ElementwiseKernel, AddsTwoAndThreeAndInPlace) {
  using T = TypeParam;
  const Doubles a = doubles(this->a), b = doubles(this->b), c = doubles(this->c);
  std::vector<T> y = filled<T>(this->count, 9);
  add(this->count, this->a.data(), this->b.data(), y.data());
  EXPECT_LT(deviation(y, this->each([&](auto i) { return a[i] + b[i]; })), tolerance<T>);
  add(this->count, this->a.data(), this->b.data(), this->c.data(), y.data());
  EXPECT_LT(deviation(y, this->each([&](auto i) { return a[i] + b[i] + c[i]; })), tolerance<T>);
  y = this->a;
  add_in_place(this->count, this->b.data(), y.data());
  EXPECT_LT(deviation(y, this->each([&](auto i) { return a[i] + b[i]; })), tolerance<T>);
  add_bias(this->rows, this->width, this->c.data(), y.data());
  EXPECT_LT(deviation(y, this->each([&](auto i) { return a[i] + b[i] + c[i % 9]; })), 2 * tolerance<T>);
}
TYPED_TEST(ElementwiseKernel, CopiesConvertAndZeroFills) {
  using T = TypeParam;
  std::vector<float> wide = filled<float>(this->count);
  copy(this->count, this->a.data(), wide.data());
  EXPECT_EQ(doubles(wide), doubles(this->a));
  std::vector<T> back = filled<T>(this->count);
  copy(this->count, wide.data(), back.data());
  EXPECT_EQ(doubles(back), doubles(this->a));
  fill_zero(this->count - 1, back.data());
  EXPECT_EQ(to_float(back[0]), 0);
  EXPECT_EQ(to_float(back[this->count - 1]), to_float(this->a[this->count - 1]));
}
TYPED_TEST(ElementwiseKernel, ScalesByAFactorAndByRow) {
  using T = TypeParam;
  const Doubles a = doubles(this->a), b = doubles(this->b), f = doubles(this->c);
  std::vector<T> y = filled<T>(this->count, 9);
  scale(this->count, 3, this->a.data(), y.data());
  EXPECT_LT(deviation(y, this->each([&](auto i) { return 3 * a[i]; })), tolerance<T>);
  scale_rows(this->rows, this->width, this->a.data(), this->c.data(), y.data());
  EXPECT_LT(deviation(y, this->each([&](auto i) { return a[i] * f[i / 9]; })), tolerance<T>);
  std::vector<T> dfactors = filled<T>(this->rows, 9);
  Doubles products(7);
  for (std::size_t i = 0; i < a.size(); ++i) products[i / 9] += a[i] * b[i];
  scale_rows_backward(this->rows, this->width, this->a.data(), this->c.data(), this->b.data(), y.data(),
                      dfactors.data());
  EXPECT_LT(deviation(y, this->each([&](auto i) { return b[i] * f[i / 9]; })), tolerance<T>);
  EXPECT_LT(deviation(dfactors, products), tolerance<T>);
}
TEST(AddInPlace, TakesBf16IntoFp32) {
  const std::vector<Bf16> x = random_values<Bf16>(5, 1);
  std::vector<float> y(5, 1);
  add_in_place(5, x.data(), y.data());
  EXPECT_EQ(y[3], 1 + to_float(x[3]));
}

}  // namespace
}  // namespace tandem::cpu
