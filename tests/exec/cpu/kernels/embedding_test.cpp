// Table lookup in shards.
#include "exec/cpu/kernels/embedding.h"

#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

template <class T>
class EmbeddingKernel : public ::testing::Test {
 protected:
  static constexpr std::int64_t width = 5, count = 6;
  std::vector<T> table = random_values<T>(10 * width, 1), dy = random_values<T>(count * width, 2);
  std::vector<std::int32_t> ids = {3, 9, 0, 3, 7, 3};
};
TYPED_TEST_SUITE(EmbeddingKernel, StorageTypes);

TYPED_TEST(EmbeddingKernel, ShardsSumToTheWholeTablesRows) {
  using T = TypeParam;
  Doubles expected;
  for (const std::int32_t id : this->ids)
    for (int j = 0; j < this->width; ++j)
      expected.push_back(static_cast<double>(to_float(this->table[id * 5 + j])));
  std::vector<T> y = filled<T>(this->count * this->width, 4);
  embedding_forward<T>({.first_row = 0, .rows = 4, .width = 5}, 6, this->ids.data(), this->table.data(),
                       Write::Replace, y.data());
  EXPECT_EQ(to_float(y[1 * 5]), 0);  // id 9 lies elsewhere
  embedding_forward<T>({.first_row = 4, .rows = 6, .width = 5}, 6, this->ids.data(), this->table.data() + 4 * 5,
                       Write::Accumulate, y.data());
  EXPECT_EQ(doubles(y), expected);
}
TYPED_TEST(EmbeddingKernel, GradientsOfEqualIdsAreAdded) {
  using T = TypeParam;
  std::vector<float> dtable = filled<float>(6 * 5, 1);
  embedding_backward<T>({.first_row = 2, .rows = 6, .width = 5}, 6, this->ids.data(), this->dy.data(),
                        dtable.data());
  Doubles expected(6 * 5, 1);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 5; ++j)
      if (this->ids[i] >= 2 && this->ids[i] < 8)
        expected[(this->ids[i] - 2) * 5 + j] += static_cast<double>(to_float(this->dy[i * 5 + j]));
  EXPECT_LT(deviation(dtable, expected), 1e-6);
}
TYPED_TEST(EmbeddingKernel, HasTheSameBitsWithAnyTeam) {
  using T = TypeParam;
  constexpr std::int64_t tokens = 3000, wide = 40;
  const std::vector<T> gradient = random_values<T>(tokens * wide, 5);
  std::vector<std::int32_t> many;
  for (int i = 0; i < tokens; ++i) many.push_back(i * i % 50);
  expect_same_bits_with_any_team([&] {
    std::vector<float> dtable = filled<float>(50 * wide);
    embedding_backward<T>({.rows = 50, .width = wide}, tokens, many.data(), gradient.data(), dtable.data());
    return dtable;
  });
}

}  // namespace
}  // namespace tandem::cpu
