// The shipped catalog: exact facts, completeness against the collected tables, and its readers' objections.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/cluster/catalog_tables.h"
#include "tests/core/cluster/machines.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

TEST(Catalog, H100IsAsItsDataSheetSays) {
  const DeviceKind& device = shipped_catalog().devices.at("h100-sxm5-80gb");
  EXPECT_DOUBLE_EQ(device.peak.at(DType::Bf16).value, 989e12);
  EXPECT_DOUBLE_EQ(device.peak.at(DType::Fp8).value, 1979e12);
  EXPECT_DOUBLE_EQ(device.tf32_peak.value().value, 494.5e12);
  EXPECT_DOUBLE_EQ(device.memory.value, 84943110144.0);
  EXPECT_DOUBLE_EQ(device.memory_bandwidth.value, 3350e9);
  EXPECT_EQ(device.compute_units, 132);
  EXPECT_DOUBLE_EQ(device.power.value, 700);
  EXPECT_EQ(device.price.value().date, "2026-05");
}

TEST(Catalog, WhatIsUnknownIsAbsent) {
  const DeviceKind& v100 = shipped_catalog().devices.at("v100-sxm2-32gb");
  EXPECT_FALSE(v100.peak.contains(DType::Bf16));
  EXPECT_FALSE(v100.tf32_peak.has_value());
  EXPECT_TRUE(shipped_catalog().devices.at("cpu-generic").peak.empty());
}

TEST(Catalog, Ndr400GoesFiftyGigabytesASecondEachWay) {
  const LinkTechnology& link = shipped_catalog().links.at("ib-ndr");
  EXPECT_DOUBLE_EQ(link.bandwidth.value, 50e9);
  EXPECT_DOUBLE_EQ(link.latency.value, 1.5e-6);
  EXPECT_DOUBLE_EQ(link.switch_latency.value, 200e-9);
  EXPECT_EQ(link.scope, LinkTechnology::Scope::InterNode);
}

TEST(Catalog, EveryPresetBuildsAndHoldsItsInvariants) {
  for (const auto& [id, preset] : shipped_catalog().presets) {
    SCOPED_TRACE(id);
    if (preset.node_type == "cpu-host") continue;
    check_cluster(cluster_of(id), 200);
    check_cluster(cluster_of(id + ":2"), 200);
  }
}

TEST(Catalog, EveryPriceHasItsDateAndSource) {
  for (const auto& [id, device] : shipped_catalog().devices) {
    if (!device.price) continue;
    EXPECT_FALSE(device.price->date.empty()) << id;
    EXPECT_FALSE(device.price->source.empty()) << id;
  }
}

TEST(Catalog, EveryEntryHasItsSource) {
  for (const auto& [id, device] : shipped_catalog().devices) EXPECT_FALSE(device.source.empty()) << id;
  for (const auto& [id, link] : shipped_catalog().links) EXPECT_FALSE(link.source.empty()) << id;
  for (const auto& [id, node] : shipped_catalog().node_types) EXPECT_FALSE(node.source.empty()) << id;
  for (const auto& [id, preset] : shipped_catalog().presets) EXPECT_FALSE(preset.source.empty()) << id;
}

TEST(CpuCores, ANumberOfThemIsOneServer) {
  const ClusterSpec spec = cluster_from_text(shipped_catalog(), "cpu-core:8", Where{});
  ASSERT_EQ(spec.groups.size(), 1u);
  EXPECT_EQ(spec.groups[0].count, 1);
  EXPECT_EQ(spec.groups[0].type.devices, 8);
}

TEST(CpuHost, AsksForTheRatesThatOnlyAMeasurementKnows) {
  const std::string said = problems_of([] { cluster_of("cpu-host:2"); });
  EXPECT_THAT(said, HasSubstr("device \"cpu-generic\" has no peak rate"));
  EXPECT_THAT(said, HasSubstr("device \"cpu-generic\" has no memory\n"));
  EXPECT_THAT(said, HasSubstr("device \"cpu-generic\" has no memory_bandwidth"));
  EXPECT_THAT(said, HasSubstr("measure it"));
}

TEST(CpuHost, IsAClusterOnceItsRatesAreGiven) {
  ClusterSpec spec = cluster_from_text(shipped_catalog(), "cpu-host:2", Where{});
  DeviceKind& device = spec.groups[0].device;
  device.peak[DType::Fp32] = teraflops(1.5);
  device.memory = gibibytes(64);
  device.memory_bandwidth = gigabytes_per_second(100);
  EXPECT_EQ(build_cluster(spec).device_count(), 2u);
}

// Rows of a file of comma-separated values with quotes, by column name.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == '"') continue;
      if (c == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    if (header.empty()) {
      header = cells;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(header.size(), cells.size()); ++i) row[header[i]] = cells[i];
  }
  return rows;
}

const std::string data = TANDEM_SOURCE_DIR "/../shared/data/";

void expect_value(const std::string& cell, double factor, double found, const std::string& what) {
  EXPECT_NEAR(found, cell.empty() ? 0 : std::stod(cell) * factor, 1e-9 * found) << what;
}

TEST(Catalog, HasEveryCollectedAccelerator) {
  if (!std::filesystem::exists(data + "hardware.csv"))
    GTEST_SKIP() << "the collected tables are not here: " << data;
  const auto rows = rows_of(data + "hardware.csv");
  ASSERT_GE(rows.size(), 32u);
  for (const auto& row : rows) {
    const std::string id = row.at("id");
    ASSERT_TRUE(shipped_catalog().devices.contains(id)) << id;
    const DeviceKind& device = shipped_catalog().devices.at(id);
    const auto rate = [&](DType dtype) {
      return device.peak.contains(dtype) ? device.peak.at(dtype).value : 0;
    };
    expect_value(row.at("fp32_tflops"), 1e12, rate(DType::Fp32), id + " fp32");
    expect_value(row.at("bf16_tflops"), 1e12, rate(DType::Bf16), id + " bf16");
    expect_value(row.at("fp16_tflops"), 1e12, rate(DType::Fp16), id + " fp16");
    expect_value(row.at("fp8_tflops"), 1e12, rate(DType::Fp8), id + " fp8");
    expect_value(row.at("tf32_tflops"), 1e12, device.tf32_peak.value_or(ComputeRate()).value, id + " tf32");
    expect_value(row.at("bf16_achievable_tflops"), 1e12, device.achievable_bf16.value_or(ComputeRate()).value,
                 id);
    expect_value(row.at("mem_bw_gbs"), 1e9, device.memory_bandwidth.value, id + " memory bandwidth");
    expect_value(row.at("compute_units"), 1, device.compute_units, id + " compute units");
    expect_value(row.at("l2_mb"), 1e6, device.l2.value, id + " L2");
    expect_value(row.at("power_w"), 1, device.power.value, id + " power");
    expect_value(row.at("usd_hr_low"), 1, device.price.value_or(Price{}).usd_per_device_hour_low,
                 id + " price");
    expect_value(row.at("usd_hr_high"), 1, device.price.value_or(Price{}).usd_per_device_hour_high,
                 id + " price");
    EXPECT_EQ(row.at("price_date"), device.price.value_or(Price{}).date) << id;
    // The table has nominal sizes; the catalog what the driver shows where that is known: at most 8 % more.
    if (row.at("mem_gb").empty()) continue;
    const double nominal = std::stod(row.at("mem_gb")) * 1e9;
    EXPECT_GE(device.memory.value, nominal * 0.999) << id;
    EXPECT_LE(device.memory.value, nominal * 1.08) << id;
  }
}

TEST(Catalog, HasEveryCollectedLink) {
  if (!std::filesystem::exists(data + "networks.csv"))
    GTEST_SKIP() << "the collected tables are not here: " << data;
  const auto rows = rows_of(data + "networks.csv");
  ASSERT_GE(rows.size(), 45u);
  for (const auto& row : rows) {
    const std::string id = row.at("id");
    ASSERT_TRUE(shipped_catalog().links.contains(id)) << id;
    const LinkTechnology& link = shipped_catalog().links.at(id);
    expect_value(row.at("gbs_per_dir"), 1e9, link.bandwidth.value, id);
    expect_value(row.at("latency_us"), 1e-6, link.latency.value, id);
    expect_value(row.at("switch_latency_ns"), 1e-9, link.switch_latency.value, id);
    // The table's share of the line rate, or more where measured collectives reached more.
    EXPECT_GE(link.efficiency, std::stod(row.at("efficiency"))) << id;
    EXPECT_LE(link.efficiency, 1) << id;
  }
}

TEST(ClusterText, CountsNodesOfAPreset) {
  const ClusterSpec spec = cluster_from_text(shipped_catalog(), "dgx-h100:16", Where{});
  EXPECT_EQ(spec.name, "dgx-h100:16");
  ASSERT_EQ(spec.groups.size(), 1u);
  EXPECT_EQ(spec.groups[0].count, 16);
  EXPECT_EQ(spec.fabric.kind, FabricKind::RailOptimised);
}

TEST(ClusterText, CountsDevicesOfADevice) {
  const ClusterSpec spec = cluster_from_text(shipped_catalog(), "h100-sxm5-80gb:64", Where{});
  EXPECT_EQ(spec.groups[0].type.id, "dgx-h100");
  EXPECT_EQ(spec.groups[0].count, 8);
}

TEST(ClusterText, DevicesThatDoNotFillNodesAreAProblem) {
  EXPECT_THAT(problems_of([] { cluster_of("h100-sxm5-80gb:60"); }), HasSubstr("ask for a multiple of 8"));
}

TEST(ClusterText, JoinsGroups) {
  const ClusterSpec spec = cluster_from_text(shipped_catalog(), "dgx-a100:2+dgx-h100:3", Where{});
  ASSERT_EQ(spec.groups.size(), 2u);
  EXPECT_EQ(spec.groups[1].count, 3);
}

TEST(ClusterText, GivesATorusTheMostEqualSizes) {
  const auto torus = [](const std::string& text) {
    return cluster_from_text(shipped_catalog(), text, Where{}).fabric.torus;
  };
  EXPECT_EQ(torus("tpu-v4"), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(torus("tpu-v4:8"), (std::vector<int>{2, 4, 4}));
  EXPECT_EQ(torus("tpu-v5e:8"), (std::vector<int>{4, 8}));
  EXPECT_EQ(torus("tpu-v4:7"), (std::vector<int>{2, 2, 7}));
}

TEST(ClusterText, AMisspelledPresetNamesTheNearest) {
  EXPECT_THAT(problems_of([] { cluster_of("dgx-h10:2"); }), HasSubstr("did you mean \"dgx-h100\"?"));
}

TEST(ClusterText, WrongCountsAreProblems) {
  for (const char* text : {"dgx-h100:", "dgx-h100:0", "dgx-h100:-3", "dgx-h100:1e3", "dgx-h100:2x",
                           "dgx-h100:99999999999999999999", "dgx-h100:1000000000", "dgx-h100:1048576", "", "+",
                           ":", "dgx-h100:2+", "+dgx-h100"}) {
    EXPECT_NE(problems_of([&] { cluster_of(text); }), "") << text;
  }
}

struct DeviceText {
  DeviceKind device;
  std::string said;
};

DeviceText read_device_text(const std::string& text, DeviceKind device = {}) {
  device.id = "mine";
  Problems problems;
  const std::string said = problems_of([&] {
    const toml::table table = parse_toml(text, "my.toml");
    read_device(table, "my.toml", device, problems);
    problems.throw_if_any();
  });
  return {device, said};
}

TEST(DeviceTable, LeavesWhatItDoesNotName) {
  const DeviceText read = read_device_text("memory = \"96 GB\"\npeak = { bf16 = \"1 PFLOP/s\" }\n",
                                           shipped_catalog().devices.at("h100-sxm5-80gb"));
  EXPECT_EQ(read.said, "");
  EXPECT_DOUBLE_EQ(read.device.memory.value, 96e9);
  EXPECT_DOUBLE_EQ(read.device.peak.at(DType::Bf16).value, 1e15);
  EXPECT_DOUBLE_EQ(read.device.peak.at(DType::Fp32).value, 67e12);
}

TEST(DeviceTable, AMisspelledKeyNamesTheNearestWithItsLine) {
  const std::string said = read_device_text("power = \"700 W\"\nmemory_bandwith = \"2 TB/s\"\n").said;
  EXPECT_THAT(said, HasSubstr("my.toml:2"));
  EXPECT_THAT(said, HasSubstr("unknown key \"memory_bandwith\""));
  EXPECT_THAT(said, HasSubstr("did you mean \"memory_bandwidth\"?"));
}

TEST(DeviceTable, ABareNumberIsAProblem) {
  EXPECT_THAT(read_device_text("memory = 80\n").said, HasSubstr("memory = 80 has no unit"));
}

TEST(DeviceTable, ARateOfZeroIsAProblem) {
  EXPECT_THAT(read_device_text("peak = { bf16 = \"0 TFLOP/s\" }\n").said,
              HasSubstr("leave out what is unknown"));
}

TEST(DeviceTable, APriceWithoutADateIsRefused) {
  EXPECT_THAT(read_device_text("price = { usd_per_device_hour = [2.0] }\n").said, HasSubstr("without a date"));
}

TEST(DeviceTable, AllProblemsAreReportedAtOnce) {
  const std::string said = read_device_text(
                               "memory = 80\npower = \"-5 W\"\ncompute_units = -1\nlink = 3\nprice = 7\npeak = "
                               "{ fp64 = \"1 TFLOP/s\" }\n")
                               .said;
  for (const char* part : {"my.toml:1", "my.toml:2", "my.toml:3", "my.toml:4", "my.toml:5", "my.toml:6"}) {
    EXPECT_THAT(said, HasSubstr(part));
  }
}

std::string fabric_problems(const std::string& text, FabricSpec fabric = {}) {
  return problems_of([&] {
    Problems problems;
    const toml::table table = parse_toml(text, "my.toml");
    read_fabric(table, "my.toml", fabric, problems);
    problems.throw_if_any();
  });
}

TEST(FabricTable, RefusesKeysOfOtherKinds) {
  EXPECT_THAT(fabric_problems("kind = \"torus\"\noversubscription = 2\n"),
              HasSubstr("unknown key \"oversubscription\""));
  EXPECT_THAT(fabric_problems("kind = \"fat-tree\"\nleaves_per_pod = 2\n"),
              HasSubstr("unknown key \"leaves_per_pod\""));
  EXPECT_EQ(fabric_problems("kind = \"fat-tree\"\nlevels = 3\nleaves_per_pod = 2\n"), "");
}

TEST(FabricTable, AMisspelledKindNamesTheNearest) {
  EXPECT_THAT(fabric_problems("kind = \"rail-optimized\"\n"), HasSubstr("did you mean \"rail-optimised\"?"));
}

// A copy of the shipped catalog whose nodes.toml ends with `more`.
std::string problems_with_nodes(const std::string& more) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("tandem_catalog_" + std::to_string(::getpid()));
  std::filesystem::copy(TANDEM_SOURCE_DIR "/scenarios/clusters", folder,
                        std::filesystem::copy_options::recursive);
  std::ofstream(folder / "nodes.toml", std::ios::app) << more;
  const std::string said = problems_of([&] { read_catalog(folder.string()); });
  std::filesystem::remove_all(folder);
  return said;
}

TEST(CatalogFiles, AReferenceToNothingNamesTheNearestAndItsLine) {
  const std::string said = problems_with_nodes("\n[mine]\ndevice = \"h100-sxm5-80g\"\nports = 0\n");
  EXPECT_THAT(said, ::testing::ContainsRegex("nodes.toml:[0-9]+"));
  EXPECT_THAT(said, HasSubstr("did you mean \"h100-sxm5-80gb\"?"));
}

TEST(CatalogFiles, TextThatIsNoTomlIsAProblemWithItsLine) {
  EXPECT_THAT(problems_with_nodes("\n[mine\n"), ::testing::ContainsRegex("nodes.toml:[0-9]+.*not valid TOML"));
}

TEST(CatalogFiles, BinaryJunkIsAProblem) {
  EXPECT_THAT(problems_with_nodes(std::string("\0\xff\xfe", 3)), HasSubstr("nodes.toml"));
}

TEST(CatalogFiles, AMissingFolderIsAProblemOfEachFile) {
  const std::string said = problems_of([] { read_catalog("/nonexistent"); });
  EXPECT_THAT(said, HasSubstr("devices.toml"));
  EXPECT_THAT(said, HasSubstr("clusters.toml"));
}

}  // namespace
}  // namespace tandem
