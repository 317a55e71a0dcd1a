// The report of a record, its JSON, and what they are made of.
#include "core/cli/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/cli/digest.h"
#include "core/cli/output.h"
#include "tests/support/golden.h"

namespace tandem {
namespace {

const std::string scenarios = std::string(TANDEM_SOURCE_DIR) + "/scenarios";

RunRecord predicted(const std::string& id, const std::vector<Override>& overrides = {}) {
  const Library library = read_library(scenarios);
  std::vector<Override> all = overrides;
  all.push_back({"fidelity", "estimate", {}});
  const Scenario scenario = read_scenario(scenarios + "/" + id + ".toml", all, library);
  return predict(scenario, scenarios, {}).value();
}
const RunRecord& quickstart() {
  static const RunRecord record = predicted("llama-3.1-8b-2xdgx-h100");
  return record;
}
std::string report(const RunRecord& record) {
  Output out(false);
  write_report(record, {}, out);
  return out.text();
}

TEST(Report, OfTheQuickstart) { expect_golden("llama-3.1-8b-2xdgx-h100-report.txt", report(quickstart())); }

TEST(Report, BreakdownSumsToTheStep) {
  const auto& keys = quickstart().summary;
  double sum = 0;
  for (const char* key :
       {"compute_s", "optimizer_s", "exposed_tp_s", "exposed_cp_s", "exposed_ep_s", "exposed_dp_s",
        "exposed_pp_s", "exposed_copy_s", "input_s", "bubble_s", "host_s", "idle_s"})
    sum += keys.at(key);
  EXPECT_NEAR(sum, keys.at("step_time_s"), 1e-9 * keys.at("step_time_s"));
}
TEST(Report, ThroughputFollowsFromTheStep) {
  const auto& keys = quickstart().summary;
  EXPECT_DOUBLE_EQ(keys.at("tokens_per_step"), 128 * 8192);
  EXPECT_DOUBLE_EQ(keys.at("tokens_per_s"), 128 * 8192 / keys.at("step_time_s"));
  EXPECT_DOUBLE_EQ(keys.at("tokens_per_s_per_gpu"), keys.at("tokens_per_s") / 16);
}
TEST(Report, MfuIsModelFlopsOverTheDensePeak) {
  const auto& keys = quickstart().summary;
  EXPECT_NEAR(keys.at("mfu"), keys.at("model_tflops_per_gpu") / 989, 0.001);
  EXPECT_LT(keys.at("mfu"), 1);
}
TEST(Report, HfuCountsRecomputation) {
  const RunRecord full = predicted("llama-3.1-8b-2xdgx-h100", {{"recompute_granularity", "full", {}}});
  EXPECT_GT(full.summary.at("hfu"), 1.2 * full.summary.at("mfu"));
  EXPECT_DOUBLE_EQ(quickstart().summary.at("hfu"), quickstart().summary.at("mfu"));
}
TEST(Report, APlanThatDoesNotFitIsPredictedAndSaidNotToFit) {
  const RunRecord record = predicted("llama-3.1-8b-2xdgx-h100", {{"mbs", "16", {}}});
  EXPECT_EQ(record.summary.at("fits"), 0);
  EXPECT_NE(report(record).find("does NOT fit: "), std::string::npos);
}
TEST(Report, UnknownPricesAreAbsentNotZero) {
  const RunRecord record = predicted("llama-3.1-8b-2xdgx-h100", {{"cluster", "dgx-a100-40gb:2", {}}});
  EXPECT_TRUE(record.summary.contains("step_time_s"));
  EXPECT_FALSE(record.summary.contains("cost_per_step"));
}
TEST(Report, CostIsTheHourlyPriceTimesTheStep) {
  const auto& keys = quickstart().summary;
  EXPECT_NEAR(keys.at("cost_per_step"), keys.at("price_per_device_hour") * 16 * keys.at("step_time_s") / 3600,
              1e-12);
}
TEST(Report, JsonHasStableKeysAndTruthValues) {
  const auto json = nlohmann::json::parse(summary_json(quickstart()));
  for (const char* key : {"step_time_s",
                          "tokens_per_s",
                          "tokens_per_s_per_gpu",
                          "samples_per_s",
                          "model_tflops_per_gpu",
                          "mfu",
                          "hfu",
                          "bubble_fraction",
                          "exposed_comm_s",
                          "exposed_tp_s",
                          "exposed_cp_s",
                          "exposed_ep_s",
                          "exposed_dp_s",
                          "exposed_pp_s",
                          "compute_s",
                          "optimizer_s",
                          "idle_s",
                          "host_s",
                          "peak_memory_gib",
                          "memory_limit_gib",
                          "reserved_gib",
                          "fits",
                          "cost_per_step",
                          "cost_per_billion_tokens",
                          "energy_per_step_kwh",
                          "devices",
                          "fidelity"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_TRUE(json["fits"].is_boolean());
  EXPECT_EQ(json["devices"], 16);
  EXPECT_EQ(json["fidelity"], "estimate");
}
TEST(Report, OfARunThatFailedSaysWhyBeforeAnyNumber) {
  RunRecord record = quickstart();
  record.header.state = RunState::Failed;
  record.header.failure = "rank 3 was killed";
  const std::string text = report(record);
  EXPECT_LT(text.find("failed: rank 3 was killed"), text.find("step "));
  EXPECT_EQ(nlohmann::json::parse(summary_json(record))["state"], "failed: rank 3 was killed");
}
TEST(Report, RerunsAreEqual) { EXPECT_EQ(predicted("llama-3.1-8b-2xdgx-h100").summary, quickstart().summary); }

TEST(Digest, MeetsThePublishedVectors) {  // FIPS 180-4 examples
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}
TEST(OutputTable, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(table({{"a", "1"}, {"µs", "22"}}, {false, true}), "  a    1\n  µs  22\n");
}
TEST(OutputBar, FillsInEighths) {
  EXPECT_EQ(bar(0.5, 2), "█");
  EXPECT_EQ(bar(1.0 / 16, 2), "▏");
  EXPECT_EQ(bar(7, 1), "█");
  EXPECT_EQ(bar(-1, 2), "");
  EXPECT_EQ(bar(std::nan(""), 2), "");
}

}  // namespace
}  // namespace tandem
