// Products of linear layers against sums in double.
#include "exec/cpu/kernels/gemm.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

template <class T>
class LinearLayer : public ::testing::Test {
 protected:
  static constexpr std::int64_t rows = 37, in = 24, out = 50;
  std::vector<T> x = random_values<T>(rows * in, 1), w = random_values<T>(out * in, 2),
                 bias = random_values<T>(out, 3), dy = random_values<T>(rows * out, 4);
  Matrix<const T> mx = dense<const T>(x.data(), rows, in), mw = dense<const T>(w.data(), out, in),
                  mdy = dense<const T>(dy.data(), rows, out);
  Scratch scratch;

  // sum over the third index of a(i, k) b(k, j), plus start(j).
  template <class A, class B>
  static Doubles sums(std::int64_t m, std::int64_t n, std::int64_t k, const A& a, const B& b) {
    Doubles c;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<double>(to_float(a(i, l))) * static_cast<double>(to_float(b(l, j)));
        c.push_back(sum);
      }
    return c;
  }
  Doubles expected_y() const {
    Doubles y = sums(
        rows, out, in, [&](auto i, auto k) { return mx.row(i)[k]; },
        [&](auto k, auto j) { return mw.row(j)[k]; });
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += static_cast<double>(to_float(bias[i % out]));
    return y;
  }
};
TYPED_TEST_SUITE(LinearLayer, StorageTypes);

TYPED_TEST(LinearLayer, ForwardMultipliesByTheTransposedWeightAndAddsTheBias) {
  using T = TypeParam;
  std::vector<T> y = filled<T>(this->rows * this->out, 7);
  linear_forward<T>(this->mx, this->mw, this->bias.data(), dense(y.data(), this->rows, this->out),
                    this->scratch);
  EXPECT_LT(deviation(y, this->expected_y()), tolerance<T>);
}
TYPED_TEST(LinearLayer, ForwardWritesOnlyTheColumnsOfAWiderResult) {
  using T = TypeParam;
  constexpr std::int64_t stride = 60;
  std::vector<T> y = filled<T>(this->rows * stride, 7);
  linear_forward<T>(this->mx, this->mw, this->bias.data(), {y.data(), this->rows, this->out, stride},
                    this->scratch);
  std::vector<T> columns;
  for (std::int64_t i = 0; i < this->rows; ++i)
    for (std::int64_t j = 0; j < stride; ++j) {
      if (j < this->out) {
        columns.push_back(y[i * stride + j]);
      } else {
        EXPECT_EQ(to_float(y[i * stride + j]), 7);
      }
    }
  EXPECT_LT(deviation(columns, this->expected_y()), tolerance<T>);
}
TYPED_TEST(LinearLayer, InputGradientIsWrittenOrAdded) {
  using T = TypeParam;
  Doubles expected = this->sums(
      this->rows, this->in, this->out, [&](auto i, auto k) { return this->mdy.row(i)[k]; },
      [&](auto k, auto j) { return this->mw.row(k)[j]; });
  std::vector<T> dx = filled<T>(this->rows * this->in, 2);
  const Matrix<T> result = dense(dx.data(), this->rows, this->in);
  linear_input_gradient<T>(this->mdy, this->mw, Write::Replace, result, this->scratch);
  EXPECT_LT(deviation(dx, expected), tolerance<T>);
  std::fill(dx.begin(), dx.end(), rounded<T>(2));
  linear_input_gradient<T>(this->mdy, this->mw, Write::Accumulate, result, this->scratch);
  for (double& value : expected) value += 2;
  EXPECT_LT(deviation(dx, expected), tolerance<T>);
}
TYPED_TEST(LinearLayer, WeightAndBiasGradientsAreAddedInFp32) {
  using T = TypeParam;
  Doubles expected = this->sums(
      this->out, this->in, this->rows, [&](auto i, auto k) { return this->mdy.row(k)[i]; },
      [&](auto k, auto j) { return this->mx.row(k)[j]; });
  Doubles of_bias(this->out, 3);
  for (std::size_t i = 0; i < this->dy.size(); ++i)
    of_bias[i % this->out] += static_cast<double>(to_float(this->dy[i]));
  for (double& value : expected) value += 3;
  std::vector<float> dw = filled<float>(this->out * this->in, 3), dbias = filled<float>(this->out, 3);
  linear_weight_gradient<T>(this->mdy, this->mx, dense(dw.data(), this->out, this->in), this->scratch);
  bias_gradient<T>(this->mdy, dbias.data(), this->scratch);
  EXPECT_LT(deviation(dw, expected), 1e-5);
  EXPECT_LT(deviation(dbias, of_bias), 1e-5);
}
TYPED_TEST(LinearLayer, GroupsUseTheirOwnWeightsAndAnEmptyOneIsLeftOut) {
  using T = TypeParam;
  constexpr std::int64_t in = 16, out = 8, rows = 11;
  const std::vector<RowGroup> groups = {{0, 4}, {4, 0}, {4, 6}};  // the last row is in no group
  const std::vector<T> w = random_values<T>(3 * out * in, 9), bias = random_values<T>(3 * out, 10);
  const auto grouped = [&](auto&& one, auto&& all, std::vector<T> result, std::int64_t width) {
    std::vector<T> expected = result;
    for (std::size_t g = 0; g < groups.size(); ++g)
      one(groups[g], w.data() + static_cast<std::int64_t>(g) * out * in, bias.data() + g * out,
          Matrix<T>{expected.data() + groups[g].begin * width, groups[g].rows, width, width});
    all(dense(result.data(), rows, width));
    EXPECT_EQ(doubles(result), doubles(expected));
  };
  const auto rows_of = [&](const std::vector<T>& m, const RowGroup& g, std::int64_t width) {
    return dense<const T>(m.data() + g.begin * width, g.rows, width);
  };
  grouped(
      [&](const RowGroup& g, const T* weight, const T* b, Matrix<T> y) {
        linear_forward<T>(rows_of(this->x, g, in), dense(weight, out, in), b, y, this->scratch);
      },
      [&](Matrix<T> y) {
        grouped_linear_forward<T>(groups, dense<const T>(this->x.data(), rows, in), w.data(), bias.data(), y,
                                  this->scratch);
      },
      filled<T>(rows * out, 5), out);
  grouped(
      [&](const RowGroup& g, const T* weight, const T*, Matrix<T> dx) {
        linear_input_gradient<T>(rows_of(this->dy, g, out), dense(weight, out, in), Write::Replace, dx,
                                 this->scratch);
      },
      [&](Matrix<T> dx) {
        grouped_linear_input_gradient<T>(groups, dense<const T>(this->dy.data(), rows, out), w.data(),
                                         Write::Replace, dx, this->scratch);
      },
      filled<T>(rows * in, 5), in);
  std::vector<float> dw = filled<float>(3 * out * in, 1), dbias = filled<float>(3 * out, 1);
  std::vector<float> expected_dw = dw, expected_dbias = dbias;
  const Matrix<const T> x = dense<const T>(this->x.data(), rows, in),
                        dy = dense<const T>(this->dy.data(), rows, out);
  grouped_linear_weight_gradient<T>(groups, dy, x, dw.data(), this->scratch);
  grouped_bias_gradient<T>(groups, dy, dbias.data(), this->scratch);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    linear_weight_gradient<T>(rows_of(this->dy, groups[g], out), rows_of(this->x, groups[g], in),
                              dense(expected_dw.data() + g * out * in, out, in), this->scratch);
    bias_gradient<T>(rows_of(this->dy, groups[g], out), expected_dbias.data() + g * out, this->scratch);
  }
  EXPECT_EQ(dw, expected_dw);
  EXPECT_EQ(dbias, expected_dbias);
}
TYPED_TEST(LinearLayer, HasTheSameBitsWithAnyTeam) {
  using T = TypeParam;
  constexpr std::int64_t rows = 512, in = 192, out = 256;
  const std::vector<T> x = random_values<T>(rows * in, 1), dy = random_values<T>(rows * out, 2);
  expect_same_bits_with_any_team([&] {
    std::vector<float> gradients = filled<float>(out * in + out);
    linear_weight_gradient<T>(dense(dy.data(), rows, out), dense(x.data(), rows, in),
                              dense(gradients.data(), out, in), this->scratch);
    bias_gradient<T>(dense(dy.data(), rows, out), gradients.data() + out * in, this->scratch);
    return gradients;
  });
}

}  // namespace
}  // namespace tandem::cpu
