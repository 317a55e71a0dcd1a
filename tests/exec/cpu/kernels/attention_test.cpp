// Flash attention against its definition: masks, windows, grouped heads, positions, and blocks that add up to
// the whole.
#include "exec/cpu/kernels/attention.h"

#include "tests/exec/cpu/kernels/attention_reference.h"

namespace tandem::cpu {
namespace {

template <class T>
struct Results {
  std::vector<T> o, dq, dk, dv;
  std::vector<float> lse;
};

template <class T>
Results<T> run(const AttentionOperands<T>& a) {
  Results<T> r{filled<T>(a.o_count(), 5), filled<T>(a.q_count(), 5), filled<T>(a.k_count(), 5),
               filled<T>(a.v_count(), 5), filled<float>(a.lse_count(), 5)};
  Scratch scratch;
  // Nothing that is left in working memory may reach a result.
  std::fill_n(scratch.floats(1 << 20), 1 << 20, NAN);
  const auto q = a.q_heads(a.q.data());
  const auto k = a.k_heads(a.k.data());
  const auto v = a.v_heads(a.v.data()), d_o = a.o_heads(a.d_o.data());
  attention_forward<T>(a.shape, a.bias, q, k, v, Write::Replace, a.o_heads(r.o.data()), r.lse.data(), scratch);
  const AttentionGradients<T> gradients = {
      .dq = a.q_heads(r.dq.data()), .dk = a.k_heads(r.dk.data()), .dv = a.v_heads(r.dv.data())};
  attention_backward<T>(a.shape, a.bias, q, k, v, a.o_heads(static_cast<const T*>(r.o.data())), d_o,
                        r.lse.data(), gradients, scratch);
  return r;
}

template <class T>
void expect_reference(const AttentionOperands<T>& a) {
  const Results<T> r = run(a);
  const AttentionReference expected = attention_reference(a);
  // bf16 stores o before backward uses it: one more rounding.
  EXPECT_LT(deviation(r.o, expected.o), tolerance<T>);
  EXPECT_LT(deviation(r.dq, expected.dq), 2 * tolerance<T>);
  EXPECT_LT(deviation(r.dk, expected.dk), 2 * tolerance<T>);
  EXPECT_LT(deviation(r.dv, expected.dv), 2 * tolerance<T>);
  for (std::size_t i = 0; i < r.lse.size(); ++i) {
    if (std::isinf(expected.lse[i])) {
      EXPECT_EQ(r.lse[i], expected.lse[i]);
    } else {
      EXPECT_NEAR(r.lse[i], expected.lse[i], 1e-5);
    }
  }
}

AttentionShape shape_of(std::int64_t length, std::int64_t head_dim) {
  return {.batch = 2,
          .heads = 2,
          .kv_heads = 2,
          .q_length = length,
          .kv_length = length,
          .qk_head_dim = head_dim,
          .v_head_dim = head_dim,
          .scale = 0.3f};
}

template <class T>
class FlashAttention : public ::testing::Test {};
TYPED_TEST_SUITE(FlashAttention, StorageTypes);

TYPED_TEST(FlashAttention, CausalOverWholeAndRaggedTiles) {
  for (const std::int64_t length : {1, 3, 64, 130})
    expect_reference(AttentionOperands<TypeParam>(shape_of(length, 64)));
}
TYPED_TEST(FlashAttention, FullOverKeysOfAnotherLength) {
  AttentionShape shape = shape_of(70, 16);
  shape.kv_length = 133;
  shape.mask = Mask::Full;
  expect_reference(AttentionOperands<TypeParam>(shape));
}
TYPED_TEST(FlashAttention, WindowsCutBothWaysUnderAFullMask) {
  for (const Mask mask : {Mask::Causal, Mask::Full}) {
    AttentionShape shape = shape_of(200, 16);
    shape.mask = mask;
    shape.window = 37;
    expect_reference(AttentionOperands<TypeParam>(shape));
  }
}
TYPED_TEST(FlashAttention, GroupedHeadsShareKeysAndSumTheirGradients) {
  AttentionShape shape = shape_of(100, 32);
  shape.heads = 6;
  expect_reference(AttentionOperands<TypeParam>(shape));
}
TYPED_TEST(FlashAttention, AnyHeadDimsAlsoUnequalOnes) {
  for (const auto& [qk, v] : {std::pair{5, 7}, {48, 32}, {128, 128}, {80, 96}, {192, 128}}) {
    AttentionShape shape = shape_of(67, qk);
    shape.v_head_dim = v;
    shape.scale = 0.15f;
    expect_reference(AttentionOperands<TypeParam>(shape));
  }
}
TYPED_TEST(FlashAttention, QueriesThatSeeNoKeyGiveZero) {
  AttentionShape shape = shape_of(90, 16);
  std::vector<std::int32_t> later(90);
  for (int i = 0; i < 90; ++i) later[i] = i + 20;
  shape.kv_positions = later.data();
  const AttentionOperands<TypeParam> operands(shape);
  expect_reference(operands);
  EXPECT_EQ(run(operands).lse[19], -INFINITY);
}
TYPED_TEST(FlashAttention, RelativeBiasIsAddedAndItsGradientSummed) {
  for (const bool bidirectional : {true, false}) {
    const std::vector<float> table = random_values(32 * 2, 21);
    std::vector<float> gradient = filled<float>(32 * 2, 1);
    AttentionShape shape = shape_of(150, 16);
    shape.mask = bidirectional ? Mask::Full : Mask::Causal;
    const RelativeBias bias = {
        .table = table.data(), .buckets = 32, .bidirectional = bidirectional, .gradient = gradient.data()};
    const AttentionOperands<TypeParam> operands(shape, bias);
    expect_reference(operands);
    Doubles expected = attention_reference(operands).dtable;
    for (double& value : expected) value = 2 * value + 1;  // added twice, to 1
    run(operands);
    EXPECT_LT(deviation(gradient, expected), 4 * tolerance<TypeParam>);
  }
}

// Rank 0 of 2 holds quarters 0 and 3 of the sequence, rank 1 quarters 1 and 2: Megatron's balanced ring.
TYPED_TEST(FlashAttention, BlocksOfAZigzagRingAddUpToTheWhole) {
  using T = TypeParam;
  constexpr std::int64_t quarter = 48, half = 2 * quarter, width = 2 * 16;
  const AttentionOperands<T> whole({.heads = 2,
                                    .kv_heads = 2,
                                    .q_length = 2 * half,
                                    .kv_length = 2 * half,
                                    .qk_head_dim = 16,
                                    .v_head_dim = 16});
  const Results<T> expected = run(whole);
  std::vector<std::int32_t> positions[2];
  for (std::int32_t i = 0; i < half; ++i)
    for (const int rank : {0, 1}) {
      const std::int32_t second = i >= quarter, chunk = second ? 3 - rank : rank;
      positions[rank].push_back(chunk * quarter + i - second * quarter);
    }
  const auto share = [&](const std::vector<T>& all, int rank) {
    std::vector<T> rows;
    for (const std::int32_t p : positions[rank])
      rows.insert(rows.end(), &all[p * width], &all[p * width] + width);
    return rows;
  };
  const Heads<T> rows = {nullptr, half * width, width};
  const auto heads = [&](std::vector<T>& m) { return Heads<T>{m.data(), rows.batch_stride, rows.row_stride}; };
  const auto constant = [&](const std::vector<T>& m) { return Heads<const T>{m.data(), half * width, width}; };
  Scratch scratch;
  std::vector<T> dk[2], dv[2];
  for (auto* gradient : {&dk[0], &dk[1], &dv[0], &dv[1]}) *gradient = filled<T>(half * width);
  for (const int rank : {0, 1}) {
    AttentionShape block = whole.shape;
    block.q_length = block.kv_length = half;
    block.q_positions = positions[rank].data();
    const std::vector<T> q = share(whole.q, rank), d_o = share(whole.d_o, rank);
    std::vector<T> o = filled<T>(half * width, 3), dq = filled<T>(half * width, 3);
    std::vector<float> lse = filled<float>(2 * half);
    for (const int step : {0, 1}) {
      const int from = (rank + step) % 2;
      block.kv_positions = positions[from].data();
      attention_forward<T>(block, {}, constant(q), constant(share(whole.k, from)),
                           constant(share(whole.v, from)), step == 0 ? Write::Replace : Write::Accumulate,
                           heads(o), lse.data(), scratch);
    }
    for (const int step : {0, 1}) {
      const int from = (rank + step) % 2;
      block.kv_positions = positions[from].data();
      attention_backward<T>(block, {}, constant(q), constant(share(whole.k, from)),
                            constant(share(whole.v, from)), constant(o), constant(d_o), lse.data(),
                            {.dq = heads(dq),
                             .dk = heads(dk[from]),
                             .dv = heads(dv[from]),
                             .write_dq = step == 0 ? Write::Replace : Write::Accumulate,
                             .write_dkv = Write::Accumulate},
                            scratch);
    }
    EXPECT_LT(deviation(o, doubles(share(expected.o, rank))), 2 * tolerance<T>);
    EXPECT_LT(deviation(dq, doubles(share(expected.dq, rank))), 2 * tolerance<T>);
  }
  for (const int rank : {0, 1}) {
    EXPECT_LT(deviation(dk[rank], doubles(share(expected.dk, rank))), 2 * tolerance<T>);
    EXPECT_LT(deviation(dv[rank], doubles(share(expected.dv, rank))), 2 * tolerance<T>);
  }
}

TYPED_TEST(FlashAttention, HasTheSameBitsWithAnyTeam) {
  using T = TypeParam;
  AttentionShape shape = shape_of(130, 32);
  shape.heads = 4;
  const std::vector<float> table = random_values(32 * 4, 21);
  expect_same_bits_with_any_team([&] {
    std::vector<float> gradient = filled<float>(32 * 4);
    const Results<T> r =
        run(AttentionOperands<T>(shape, {.table = table.data(), .buckets = 32, .gradient = gradient.data()}));
    Doubles all = doubles(r.o);
    for (const Doubles& more : {doubles(r.dq), doubles(r.dk), doubles(r.dv), doubles(gradient), doubles(r.lse)})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  });
}

TEST(AttentionReferenceOfTheTests, HasTheGradientsOfItsDifferences) {
  const std::vector<float> table = random_values(8 * 2, 21);
  const AttentionShape s = {.batch = 1,
                            .heads = 2,
                            .kv_heads = 1,
                            .q_length = 6,
                            .kv_length = 7,
                            .qk_head_dim = 3,
                            .v_head_dim = 4,
                            .scale = 0.5f,
                            .window = 5};
  const RelativeBias bias = {.table = table.data(), .buckets = 8, .bidirectional = false, .max_distance = 16};
  const AttentionOperands<float> a(s, bias);
  const AttentionReference r = attention_reference(a);
  const Doubles q = doubles(a.q), k = doubles(a.k), v = doubles(a.v), d_o = doubles(a.d_o), t = doubles(table);
  const auto loss = [&](const Doubles& q, const Doubles& k, const Doubles& v, const Doubles& t) {
    return dot(attention_reference(s, bias, q, k, v, d_o, t).o, d_o);
  };
  const auto expect = [](const Doubles& analytic, const Doubles& numeric) {
    for (std::size_t i = 0; i < numeric.size(); ++i) EXPECT_NEAR(analytic[i], numeric[i], 1e-8);
  };
  expect(r.dq, numeric_gradient([&](const Doubles& at) { return loss(at, k, v, t); }, q));
  expect(r.dk, numeric_gradient([&](const Doubles& at) { return loss(q, at, v, t); }, k));
  expect(r.dv, numeric_gradient([&](const Doubles& at) { return loss(q, k, at, t); }, v));
  expect(r.dtable, numeric_gradient([&](const Doubles& at) { return loss(q, k, v, at); }, t));
}

// Values printed by transformers' T5Attention._relative_position_bucket, 32 buckets, max_distance 128.
TEST(RelativeBuckets, AreThoseOfT5) {
  const float none = 0;
  const RelativeBias both = {.table = &none, .buckets = 32, .bidirectional = true};
  const RelativeBias past = {.table = &none, .buckets = 32, .bidirectional = false};
  EXPECT_EQ(relative_bucket(both, 0), 0);
  EXPECT_EQ(relative_bucket(both, -7), 7);
  EXPECT_EQ(relative_bucket(both, 7), 23);
  EXPECT_EQ(relative_bucket(both, -20), 10);
  EXPECT_EQ(relative_bucket(both, 1000), 31);
  EXPECT_EQ(relative_bucket(past, 5), 0);
  EXPECT_EQ(relative_bucket(past, -15), 15);
  EXPECT_EQ(relative_bucket(past, -40), 23);
  EXPECT_EQ(relative_bucket(past, -128), 31);
}

}  // namespace
}  // namespace tandem::cpu
