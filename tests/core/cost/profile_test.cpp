// Measured durations: exact where measured, sensible between and beyond, read back as written, preferred to
// formulas.
#include "core/cost/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/cost/machines.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

ProfileRow row(MeasuredWork work, std::vector<MeasuredTime> times) {
  ProfileRow made{.device = "cpu-core", .kind = {.work = work}, .times = std::move(times), .from = {}};
  made.from.source = "a test";
  return made;
}
DeviceKind core() {
  DeviceKind kind;
  kind.id = kind.name = "cpu-core";
  kind.peak[DType::Fp32] = ComputeRate(170e9);
  kind.memory = gigabytes(8);
  kind.memory_bandwidth = Bandwidth(28e9);
  return kind;
}
Cluster two_cores() { return machines::cluster(core(), {.intra = "shm", .per_node = 2}, 1); }

TEST(Profile, GivesWhatWasMeasured) {
  const ProfileRow table =
      row(MeasuredWork::Product, {{{64, 64, 64, 1}, Seconds(0.25)}, {{128, 64, 64, 1}, Seconds(0.75)}});
  const ProfileAnswer answer = look_up(table, {128, 64, 64, 1});
  EXPECT_TRUE(answer.exact);
  EXPECT_DOUBLE_EQ(answer.time.value, 0.75);
}

TEST(Profile, KeepsACommonRateBetweenAndBeyondShapes) {
  const ProfileRow table = row(MeasuredWork::Product, {{{64, 64, 64, 1}, Seconds(64e-6 * 4096)},
                                                       {{256, 64, 64, 1}, Seconds(256e-6 * 4096)}});
  for (const double m : {16.0, 100.0, 4096.0})
    EXPECT_NEAR(look_up(table, {m, 64, 64, 1}).time.value, m * 1e-6 * 4096, 1e-9 * m) << m;
}

TEST(Profile, LeansTowardsTheNearerShape) {
  // 1 and 4 units of time a flop.
  const ProfileRow table =
      row(MeasuredWork::Product, {{{10, 1, 1, 1}, Seconds(10)}, {{1000, 1, 1, 1}, Seconds(4000)}});
  EXPECT_NEAR(look_up(table, {100, 1, 1, 1}).time.value, 200, 1e-9);
  EXPECT_LT(look_up(table, {20, 1, 1, 1}).time.value, 30);
}

TEST(Profile, DrawsALineThroughSizesOfMessages) {
  const ProfileRow table =
      row(MeasuredWork::Message, {{{100, 1, 1, 1}, Seconds(2)}, {{10000, 1, 1, 1}, Seconds(8)}});
  EXPECT_NEAR(look_up(table, {1000, 1, 1, 1}).time.value, 4, 1e-12);
  EXPECT_DOUBLE_EQ(look_up(table, {1, 1, 1, 1}).time.value, 2);
  EXPECT_DOUBLE_EQ(look_up(table, {20000, 1, 1, 1}).time.value, 16);
}

TEST(Profile, CountsRecomputationAsForward) {
  Compute work = machines::work(MatrixProduct{.m = 8, .n = 4, .k = 2, .input = DType::Fp32});
  const MeasuredKind forward = kind_of(work);
  work.phase = Phase::Recompute;
  EXPECT_EQ(kind_of(work), forward);
  work.phase = Phase::WeightGradient;
  EXPECT_NE(kind_of(work), forward);
}

TEST(Profile, ReadsBackWhatItWrote) {
  std::vector<ProfileRow> rows;
  rows.push_back(row(MeasuredWork::Product, {{{64, 32, 16, 2}, Seconds(1.23456789e-4)}}));
  rows.back().kind.phase = Phase::InputGradient;
  rows.back().kind.grouped = true;
  rows.push_back(row(MeasuredWork::Attention, {{{4, 128, 128, 64}, Seconds(2.5)}}));
  rows.back().kind.mask = AttentionMask::Causal;
  rows.push_back(row(MeasuredWork::Pass, {{{100, 1200.5, 1, 1}, Seconds(1e-6)}}));
  rows.back().kind.pass = PassKind::Optimizer;
  rows.back().kind.phase = Phase::Update;
  rows.push_back(row(MeasuredWork::Collective, {{{65536, 1, 1, 1}, Seconds(1e-5)}}));
  rows.back().kind.collective = CollectiveKind::ReduceScatter;
  rows.back().kind.algorithm = Algorithm::Ring;
  rows.back().kind.members = 2;
  rows.push_back(row(MeasuredWork::Message, {{{65536, 1, 1, 1}, Seconds(1e-5)}}));
  CoresRow cores{.device = "cpu-core", .count = 2, .threads = 1, .communication = 0.5, .from = {}};
  cores.from.source = "a \"test\"";
  const auto read = machines::calibration(to_toml({cores}, rows));
  ASSERT_EQ(read->profile.size(), rows.size());
  for (const ProfileRow& written : rows) {
    const ProfileRow* found = read->find_profile("cpu-core", written.kind);
    ASSERT_NE(found, nullptr) << text(written.kind);
    ASSERT_EQ(found->times.size(), 1u);
    EXPECT_EQ(found->times[0].shape, written.times[0].shape);
    EXPECT_NEAR(found->times[0].time / written.times[0].time, 1, 1e-8);
  }
  EXPECT_EQ(read->find_cores("cpu-core")->count, 2);
  EXPECT_EQ(read->find_cores("cpu-core")->from.source, "a \"test\"");
}

TEST(Profile, NamesWhatIsWrongWithARow) {
  const std::string head = "[[profile]]\ndevice = \"cpu-core\"\nsource = \"s\"\n";
  const auto problem = [&](const std::string& rest) {
    try {
      machines::calibration(head + rest);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(problem("work = \"prodct\"\ntimes = [[\"8\", \"1 us\"]]"), HasSubstr("did you mean product?"));
  EXPECT_THAT(problem("work = \"message\"\ntimes = [[\"8 by 8\", \"1 us\"]]"),
              HasSubstr("has no shape \"8 by 8\""));
  EXPECT_THAT(problem("work = \"message\"\ntimes = [[\"8\", \"1\"]]"), HasSubstr("has no time \"1\""));
  EXPECT_THAT(problem("work = \"message\""), HasSubstr("times is missing or empty"));
  EXPECT_THAT(problem("work = \"message\"\nmembers = 2\ntimes = [[\"8\", \"1 us\"]]"),
              HasSubstr("members is not a key"));
  EXPECT_THAT(problem("work = \"collective\"\ntimes = [[\"8\", \"1 us\"]]"), HasSubstr("members is missing"));
}

TEST(MeasuredCosts, ComeBeforeFormulasAndSaySo) {
  const Compute work = machines::work(MatrixProduct{.m = 64, .n = 64, .k = 64, .input = DType::Fp32});
  const auto calibration =
      machines::calibration(to_toml({}, {row(MeasuredWork::Product, {{{64, 64, 64, 1}, Seconds(0.25)}})}));
  const CostModel costs(calibration, "megatron", two_cores());
  const ComputeCost cost = costs.compute(work, DeviceKindId(0));
  EXPECT_DOUBLE_EQ(cost.device.value, 0.25);
  EXPECT_DOUBLE_EQ(cost.host.value, 0);
  EXPECT_THAT(costs.explain(work, DeviceKindId(0)), HasSubstr("as measured; a test"));
}

TEST(MeasuredCosts, HoldForCollectivesOfTheGroupSizeTheyWereMeasuredWith) {
  ProfileRow table = row(MeasuredWork::Collective, {{{1000, 1, 1, 1}, Seconds(3)}});
  table.kind.algorithm = Algorithm::Ring;
  table.kind.members = 2;
  const auto calibration = machines::calibration(to_toml({}, {table}));
  const CostModel costs(calibration, "megatron", machines::cluster(core(), {.intra = "shm", .per_node = 4}, 1));
  const Collective work{.kind = CollectiveKind::AllReduce, .size = Bytes(1000)};
  EXPECT_DOUBLE_EQ(costs.collective(work, machines::devices(2)).transfer.value, 3);
  EXPECT_LT(costs.collective(work, machines::devices(4)).transfer.value, 1);
}

TEST(Cores, OfOneMachineLoadNoLink) {
  const CostModel costs(machines::calibration(), "megatron", two_cores());
  EXPECT_TRUE(costs.loads(DeviceId(0), DeviceId(1)).empty());
  ASSERT_TRUE(costs.shared_cores(DeviceId(0)).has_value());
  EXPECT_DOUBLE_EQ(costs.shared_cores(DeviceId(0))->cores, 2);
}

TEST(Cores, AreNotWhatAcceleratorsShare) {
  const CostModel costs(machines::calibration(), "megatron", machines::cluster(machines::a100(), {}, 1));
  EXPECT_FALSE(costs.shared_cores(DeviceId(0)).has_value());
}

}  // namespace
}  // namespace tandem
