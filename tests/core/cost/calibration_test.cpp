// Reading calibrations: shipped rows are whole, overlays replace, mistakes are named with file and line.
#include "core/cost/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster/catalog.h"
#include "tests/core/cost/machines.h"

namespace tandem {
namespace {

using testing::HasSubstr;

std::vector<Problem> problems_of(const std::string& overlay) {
  try {
    machines::calibration(overlay);
  } catch (const InputError& error) {
    return error.problems();
  }
  return {};
}

TEST(Calibration, GivesEveryRowASourceAndASpread) {
  const auto c = machines::calibration();
  for (const GemmRow& row : c->gemm) {
    EXPECT_FALSE(row.from.source.empty()) << row.device;
    EXPECT_TRUE(row.from.sigma.contains("eta")) << row.device;
    EXPECT_GE(row.eta_boost, 0.3) << row.device;
  }
  for (const AttentionRow& row : c->attention) EXPECT_TRUE(row.from.sigma.contains("forward")) << row.device;
  for (const MemoryRow& row : c->memory) EXPECT_TRUE(row.from.sigma.contains("beta")) << row.device;
  for (const LinkRow& row : c->links) EXPECT_TRUE(row.from.sigma.contains("ring")) << row.link;
  for (const NetworkRow& row : c->networks) EXPECT_TRUE(row.from.sigma.contains("efficiency")) << row.network;
  for (const auto& [name, row] : c->frameworks) EXPECT_FALSE(row.from.source.empty()) << name;
  EXPECT_DOUBLE_EQ(c->find_gemm("h100-sxm5-80gb", DType::Bf16)->from.sigma.at("eta"), 0.10);  // its own
  EXPECT_DOUBLE_EQ(c->find_gemm("a100-sxm4-80gb", DType::Bf16)->from.sigma.at("eta"), 0.08);  // the file's
}

TEST(Calibration, TakesWhatARowLeavesOutFromTheRowThatItResembles) {
  const auto c = machines::calibration();
  const GemmRow* h200 = c->find_gemm("h200-sxm-141gb", DType::Bf16);
  ASSERT_NE(h200, nullptr);
  EXPECT_EQ(h200->from.like, "h100-sxm5-80gb");
  EXPECT_DOUBLE_EQ(h200->beta, 0.93);
  const GemmRow* fp8 = c->find_gemm("h200-sxm-141gb", DType::Fp8);
  EXPECT_DOUBLE_EQ(fp8->depth, 512);
  EXPECT_DOUBLE_EQ(fp8->eta, 0.68);
}

TEST(Calibration, LaysAnOverlayOverShippedRows) {
  const auto c = machines::calibration(
      "[[gemm]]\ndevice = \"a100-sxm4-80gb\"\ndtypes = [\"bf16\", \"fp16\"]\neta = 0.5\nsource = \"my own "
      "runs\"\n"
      "[[network]]\nnetwork = \"my-net\"\nlike = \"ib-ndr\"\nefficiency = 0.5\nsource = \"my own runs\"\n"
      "[environment]\nclock = \"boost\"\nsource = \"my own runs\"\n");
  const GemmRow* row = c->find_gemm("a100-sxm4-80gb", DType::Bf16);
  EXPECT_DOUBLE_EQ(row->eta, 0.5);
  EXPECT_DOUBLE_EQ(row->beta, 0.83);
  EXPECT_EQ(row->from.source, "my own runs");
  EXPECT_EQ(std::count_if(c->gemm.begin(), c->gemm.end(),
                          [](const GemmRow& r) { return r.device == "a100-sxm4-80gb"; }),
            1);
  EXPECT_DOUBLE_EQ(c->find_network("my-net")->efficiency, 0.5);
  EXPECT_DOUBLE_EQ(c->find_network("my-net")->ll_cap.value, 18e9);
  EXPECT_EQ(c->environment.clock, Clock::Boost);
  EXPECT_DOUBLE_EQ(c->environment.overlap_share, 0.29);
}

TEST(Calibration, NamesFileLineAndNearestKeyOfAMistake) {
  const auto found = problems_of(
      "[[gemm]]\ndevice = \"a100-sxm4-80gb\"\ndtypes = [\"bf16\"]\nbata = 0.5\neta = 0.5\nbeta = 0.5\nsource = "
      "\"x\"\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where.line, 4);
  EXPECT_THAT(found[0].where.file, HasSubstr("overlay"));
  EXPECT_THAT(found[0].what, HasSubstr("bata is not a key"));
  EXPECT_THAT(found[0].hint, HasSubstr("beta"));
}

TEST(Calibration, RefusesWhatIsNotSo) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[[gemm]]\ndevice = \"x\"\ndtypes = [\"bf16\"]\neta = 1.5\nbeta = 0.5\nsource = \"x\"\n",
       "eta is out of range"},
      {"[[gemm]]\ndevice = \"x\"\ndtypes = [\"bf16\"]\neta = nan\nbeta = 0.5\nsource = \"x\"\n",
       "eta is out of range"},
      {"[[gemm]]\ndevice = \"x\"\ndtypes = [\"bf61\"]\n", "is no number format"},
      {"[[gemm]]\ndevice = \"x\"\ndtypes = [\"bf16\"]\neta = 0.5\nbeta = 0.5\n", "source is missing"},
      {"[[gemm]]\ndevice = \"x\"\nlike = \"y\"\ndtypes = [\"bf16\"]\neta = 0.5\nbeta = 0.5\nsource = \"x\"\n",
       "names no row above"},
      {"[[gemm]]\ndevice = \"x\"\ndtypes = [\"bf16\"]\neta = 0.5\nbeta = 0.5\nstart = 4\nsource = \"x\"\n",
       "start is not a text"},
      {"[[gemm]]\ndevice = \"x\"\ndtypes = [\"bf16\"]\neta = 0.5\nbeta = 0.5\nfeed = \"48 GB\"\nsource = "
       "\"x\"\n",
       "is no bandwidth"},
      {"[[memory]]\ndevice = \"x\"\nbeta = 0.5\nbeta_of = { norn = 0.5 }\nsource = \"x\"\n",
       "names no kind of pass"},
      {"[[link]]\nlink = \"nvlink4\"\nring = [[8, 0.8], [4, 0.7]]\nsource = \"x\"\n",
       "not a list of [group size, share]"},
      {"[[network]]\nnetwork = \"x\"\nsource = \"x\"\n", "efficiency is missing"},
      {"[environment]\nclock = \"turbo\"\nsource = \"x\"\n", "clock = \"turbo\" is unknown"},
      {"[[framework]]\nname = \"x\"\nlike = \"megatorn\"\nsource = \"x\"\n", "names no row above"},
      {"[gem]\nx = 1\n", "[gem] is not a section"},
      {"gemm = 3\n", "gemm is not a table"},
      {"[[gemm]\n", ""},
  };
  for (const auto& [text, what] : wrong) {
    const auto found = problems_of(text);
    ASSERT_FALSE(found.empty()) << text;
    EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                            [&](const Problem& p) { return p.what.find(what) != std::string::npos; }))
        << text << found[0].what;
    EXPECT_GT(found[0].where.line, 0) << text;
  }
}

TEST(Calibration, RefusesAMissingFolderOrOverlay) {
  EXPECT_THROW(read_calibration("/no/such/folder"), InputError);
  EXPECT_THROW(read_calibration(machines::calibrations(), "/no/such/file.toml"), InputError);
}

TEST(ShippedOverlays, SlowDownACrowdedCluster) {
  const std::string file = machines::calibrations() + "/overlays/shared-cluster.toml";
  const Cluster machine = machines::cluster(machines::h100(), {.network = "efa-v2"}, 32);
  const Collective work{.kind = CollectiveKind::AllGather, .size = Bytes(256e6)};
  const auto time = [&](const std::string& overlay) {
    const CostModel costs(read_calibration(machines::calibrations(), overlay), "megatron", machine);
    const CommunicationCost cost = costs.collective(work, machines::devices(256));
    return (cost.latency + cost.transfer).value;
  };
  // (n - 1) 43 us + x / 370 GB/s, as measured
  EXPECT_NEAR(time(file), 255 * 43e-6 + 255.0 / 256 * 256e6 / 370e9, 0.05 * time(file));
  EXPECT_LT(time(""), 0.6 * time(file));
}

TEST(SizeTable, IsLinearBetweenRowsAndClampedOutside) {
  const SizeTable table = {{2, 0.8}, {4, 0.6}};
  EXPECT_DOUBLE_EQ(interpolate(table, 1), 0.8);
  EXPECT_DOUBLE_EQ(interpolate(table, 3), 0.7);
  EXPECT_DOUBLE_EQ(interpolate(table, 64), 0.6);
}

// Every accelerator of the catalog that has a data sheet has its row, or is left to the common one knowingly.
TEST(ShippedCalibration, CoversTheCatalog) {
  const auto c = machines::calibration();
  const Catalog catalog = read_catalog(TANDEM_SOURCE_DIR "/scenarios/clusters");
  const std::vector<std::string> unmeasured = {"trainium2", "ascend-910b", "ascend-910c", "cpu-generic",
                                               "cpu-core"};
  for (const auto& [id, kind] : catalog.devices) {
    const bool covered = c->find_gemm(id, DType::Bf16) != nullptr || c->find_gemm(id, DType::Fp16) != nullptr;
    const bool known_gap = std::find(unmeasured.begin(), unmeasured.end(), id) != unmeasured.end();
    EXPECT_NE(covered, known_gap) << id;
  }
  for (const GemmRow& row : c->gemm)
    EXPECT_TRUE(row.device == "*" || catalog.devices.contains(row.device)) << row.device;
  for (const LinkRow& row : c->links) EXPECT_TRUE(catalog.links.contains(row.link)) << row.link;
}

}  // namespace
}  // namespace tandem
