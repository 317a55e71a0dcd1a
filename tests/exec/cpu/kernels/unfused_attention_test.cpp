// Attention in separate kernels gives what its definition gives.
#include "exec/cpu/kernels/unfused_attention.h"

#include "tests/exec/cpu/kernels/attention_reference.h"

namespace tandem::cpu {
namespace {

template <class T>
class UnfusedAttention : public ::testing::Test {};
TYPED_TEST_SUITE(UnfusedAttention, StorageTypes);

template <class T>
void expect_reference(const AttentionOperands<T>& a) {
  Scratch scratch;
  const AttentionShape& s = a.shape;
  const auto q = a.q_heads(a.q.data());
  const auto k = a.k_heads(a.k.data());
  const auto v = a.v_heads(a.v.data()), d_o = a.o_heads(a.d_o.data());
  std::vector<T> p = filled<T>(s.batch * s.heads * s.q_length * s.kv_length, 3), ds = p;
  std::vector<T> o = filled<T>(a.o_count(), 3), dq = filled<T>(a.q_count()), dk = filled<T>(a.k_count(), 3),
                 dv = filled<T>(a.v_count());
  attention_scores<T>(s, a.bias, q, k, p.data(), scratch);
  attention_softmax<T>(s, p.data());
  attention_context<T>(s, p.data(), v, a.o_heads(o.data()), scratch);
  attention_value_gradient<T>(s, p.data(), d_o, Write::Accumulate, a.v_heads(dv.data()), scratch);
  attention_probability_gradient<T>(s, d_o, v, ds.data(), scratch);
  attention_softmax_backward<T>(s, a.bias, p.data(), ds.data(), scratch);
  attention_query_gradient<T>(s, ds.data(), k, Write::Accumulate, a.q_heads(dq.data()), scratch);
  attention_key_gradient<T>(s, ds.data(), q, Write::Replace, a.k_heads(dk.data()), scratch);
  const AttentionReference expected = attention_reference(a);
  EXPECT_LT(deviation(o, expected.o), 2 * tolerance<T>);
  EXPECT_LT(deviation(dq, expected.dq), 4 * tolerance<T>);
  EXPECT_LT(deviation(dk, expected.dk), 4 * tolerance<T>);
  EXPECT_LT(deviation(dv, expected.dv), 2 * tolerance<T>);
}

TYPED_TEST(UnfusedAttention, CausalWithGroupedHeads) {
  expect_reference(AttentionOperands<TypeParam>({.batch = 2,
                                                 .heads = 4,
                                                 .kv_heads = 2,
                                                 .q_length = 33,
                                                 .kv_length = 33,
                                                 .qk_head_dim = 8,
                                                 .v_head_dim = 12,
                                                 .scale = 0.3f}));
}
TYPED_TEST(UnfusedAttention, WindowAndPositions) {
  std::vector<std::int32_t> queries(20), keys(30);
  for (int i = 0; i < 20; ++i) queries[i] = 2 * i;
  for (int i = 0; i < 30; ++i) keys[i] = 5 + i;  // the first queries see nothing
  expect_reference(AttentionOperands<TypeParam>({.heads = 2,
                                                 .kv_heads = 2,
                                                 .q_length = 20,
                                                 .kv_length = 30,
                                                 .qk_head_dim = 8,
                                                 .v_head_dim = 8,
                                                 .scale = 0.3f,
                                                 .window = 9,
                                                 .q_positions = queries.data(),
                                                 .kv_positions = keys.data()}));
}
TYPED_TEST(UnfusedAttention, RelativeBiasAndItsGradient) {
  const std::vector<float> table = random_values(32 * 2, 21);
  std::vector<float> gradient = filled<float>(32 * 2, 1);
  const AttentionOperands<TypeParam> operands(
      {.batch = 2,
       .heads = 2,
       .kv_heads = 2,
       .q_length = 40,
       .kv_length = 40,
       .qk_head_dim = 8,
       .v_head_dim = 8,
       .scale = 0.3f,
       .mask = Mask::Full},
      {.table = table.data(), .buckets = 32, .gradient = gradient.data()});
  expect_reference(operands);
  Doubles expected = attention_reference(operands).dtable;
  for (double& value : expected) value += 1;
  EXPECT_LT(deviation(gradient, expected), 4 * tolerance<TypeParam>);
}
TYPED_TEST(UnfusedAttention, SoftmaxIsExactlyZeroWhereHidden) {
  using T = TypeParam;
  const AttentionShape shape = {.q_length = 3, .kv_length = 3};
  std::vector<T> scores = random_values<T>(9, 1);
  attention_softmax(shape, scores.data());
  EXPECT_EQ(to_float(scores[0]), 1);
  EXPECT_EQ(to_float(scores[1]), 0);
  EXPECT_EQ(to_float(scores[5]), 0);
}
TYPED_TEST(UnfusedAttention, HasTheSameBitsWithAnyTeam) {
  using T = TypeParam;
  const AttentionOperands<T> a({.batch = 2,
                                .heads = 4,
                                .kv_heads = 2,
                                .q_length = 80,
                                .kv_length = 80,
                                .qk_head_dim = 8,
                                .v_head_dim = 8});
  const std::vector<T> ds = random_values<T>(2 * 4 * 80 * 80, 3);
  Scratch scratch;
  expect_same_bits_with_any_team([&] {
    std::vector<T> dk = filled<T>(a.k_count());
    attention_key_gradient<T>(a.shape, ds.data(), a.q_heads(a.q.data()), Write::Replace, a.k_heads(dk.data()),
                              scratch);
    return dk;
  });
}

}  // namespace
}  // namespace tandem::cpu
