// The short way through long steps, and whole tables.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/cost/cost_model.h"
#include "core/estimate/estimate.h"
#include "core/lower/lower.h"
#include "core/validate/validation_report.h"

namespace tandem {
namespace {

const std::string scenarios = TANDEM_SOURCE_DIR "/scenarios";

const Library& library() {
  static const Library shipped = read_library(scenarios);
  return shipped;
}
std::shared_ptr<const Calibration> calibration() {
  static const auto shipped = read_calibration(scenarios + "/calibrations");
  return shipped;
}

CsvTable table(const std::string& rows) {
  return parse_csv(
      "id,model_name,params_B,layers,hidden,ffn_hidden,heads,kv_heads,vocab,seq_len,gpu,num_gpus,gpus_per_node,"
      "tp,pp,vpp,dp,"
      "zero_stage,micro_batch,global_batch,precision,framework,iteration_s,status\n" +
          rows,
      "t.csv");
}

// Every microbatch of the step.
double played_whole(const RunCase& run) {
  const ModelGraph model = build_model(run.model);
  const Cluster cluster = build_cluster(run.cluster);
  const CostModel costs(calibration(), run.framework, cluster);
  PlanSpec spec = run.plan;
  spec.host_seconds_per_step = costs.host_per_step();
  const Plan plan =
      resolve_plan(spec, run.model, model, {static_cast<std::int64_t>(cluster.device_count()), 8});
  return estimate(lower(model, plan), cluster, costs, PlayOptions{}).step_time.value;
}

class SteadyState : public testing::TestWithParam<const char*> {};

TEST_P(SteadyState, ContinuesAShortStepAsTheLongOneGoes) {
  const std::vector<RunRow> rows = run_rows(table(GetParam()));
  const RunCase run = std::get<RunCase>(run_case(rows.front(), library()));
  const double whole = played_whole(run);
  const CasePrediction made = predict_case(run, calibration());
  ASSERT_EQ(made.refused, "");
  EXPECT_NEAR(made.step.value / whole, 1, 2e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, SteadyState,
    testing::Values("a-1,GPT,,8,1024,4096,16,16,50257,1024,A100,4,4,1,4,,1,0,1,64,bf16,Megatron-LM,1,\n",
                    "b-1,Llama,,8,1024,4096,16,16,32000,1024,H100,8,8,2,1,,4,1,1,256,bf16,Megatron-Core,1,\n",
                    "c-1,Llama,,16,1024,4096,16,16,32000,1024,H100,8,8,1,4,4,2,1,1,128,bf16,Megatron-Core,1,\n",
                    "d-1,Llama,,8,1024,4096,16,16,32000,1024,H100,8,8,1,4,,2,0,1,96,bf16,nanotron,1,\n",
                    "e-1,MPT,,8,1024,4096,16,16,32000,1024,A100,8,8,1,1,,8,3,1,128,bf16,llm-foundry,1,\n"));

TEST(WaitingHosts, FillThePipelineAsDevicesDo) {
  // Four stages of two equal layers, eight microbatches; the host takes far longer than the device.
  const std::string row = "a-1,GPT,,8,512,2048,8,8,1024,128,A100,4,4,1,4,,1,0,1,8,bf16,Megatron-LM,1,\n";
  RunCase run = std::get<RunCase>(run_case(run_rows(table(row)).front(), library()));
  auto constants = std::make_shared<Calibration>(*calibration());
  FrameworkProfile& profile = constants->frameworks.at(run.framework);
  profile.host_per_launch = milliseconds(10);
  profile.host_per_step = Seconds(0);
  const double runs_ahead = predict_case(run, constants).step.value;
  profile.host_waits_for_messages = true;
  const double waits = predict_case(run, constants).step.value;
  // Stages with embedding and head launch a little more than the others.
  EXPECT_NEAR(waits / runs_ahead, (8.0 + 3) / 8, 0.08);
}

TEST(Validate, CountsRowsThatItLeavesOutUnderTheirReason) {
  const auto report =
      validate(table("s-1,GPT,,8,1024,4096,16,16,50257,1024,A100,4,4,1,4,,1,0,1,8,bf16,Megatron-LM,1,\n"
                     "s-2,GPT,,8,1024,4096,16,16,50257,1024,A100,4,4,1,4,,1,0,1,8,bf16,unheard of,1,\n"
                     "t-1,GPT,,8,1024,4096,16,16,50257,1024,A100,4,4,,,,1,0,1,8,bf16,Megatron-LM,1,\n"),
               library(), calibration(), {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->sets.size(), 2u);
  EXPECT_EQ(report->sets[0].time.rows, 1u);
  EXPECT_EQ(report->sets[0].skipped, 1u);
  EXPECT_EQ(report->all.reasons.at("parallel layout is not stated"), 1u);
  EXPECT_EQ(report->all.reasons.at("framework has no profile"), 1u);
}

TEST(Validate, HoldsRowsThatRanOutOfMemoryAgainstTheVerdict) {
  const auto report =
      validate(table("s-1,Llama,,80,8192,28672,64,64,131072,4096,H100,8,8,1,1,,8,0,1,8,bf16,nanotron,,OOM\n"
                     "s-2,Llama,,8,1024,4096,16,16,32000,1024,H100,8,8,1,1,,8,0,1,8,bf16,nanotron,,OOM\n"
                     "s-3,Llama,,8,1024,4096,16,16,32000,1024,H100,8,8,1,1,,8,0,1,8,bf16,nanotron,,Other\n"),
               library(), calibration(), {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->fits.right, 1u);
  EXPECT_EQ(report->fits.false_fits, 1u);
  EXPECT_EQ(report->all.reasons.at("failed for a reason that is not memory"), 1u);
  EXPECT_EQ(report->all.time.rows, 0u);
}

TEST(Validate, GivesTheSameOnOneThreadAndOnFour) {
  const CsvTable rows = read_csv(scenarios + "/published/runs.csv");
  CsvTable few = rows;
  few.rows.resize(12);
  const auto one = validate(few, library(), calibration(), {.threads = 1, .progress = {}});
  const auto four = validate(few, library(), calibration(), {.threads = 4, .progress = {}});
  EXPECT_EQ(validation_json(*one), validation_json(*four));
}

TEST(Validate, StopsWhenAskedTo) {
  const CsvTable rows = read_csv(scenarios + "/published/runs.csv");
  EXPECT_FALSE(
      validate(rows, library(), calibration(), {.threads = 1, .progress = [](double) { return false; }}));
}

TEST(ValidationJson, HasFractionsUnderStableKeys) {
  const auto report =
      validate(table("s-1,GPT,,8,1024,4096,16,16,50257,1024,A100,4,4,1,4,,1,0,1,8,bf16,Megatron-LM,1,\n"),
               library(), calibration(), {});
  const nlohmann::json json = nlohmann::json::parse(validation_json(*report));
  for (const char* key :
       {"set", "rows", "skipped", "median_abs_deviation", "mean_abs_deviation", "bias", "p90_abs_deviation"})
    EXPECT_TRUE(json["sets"][0].contains(key)) << key;
  EXPECT_NEAR(json["all"]["bias"].get<double>(), report->rows[0].seconds()->predicted - 1, 1e-9);
  EXPECT_TRUE(json["fits"].contains("false_out_of_memory"));
}

TEST(ScatterSvg, HasADotARow) {
  const auto report =
      validate(table("s-1,GPT,,8,1024,4096,16,16,50257,1024,A100,4,4,1,4,,1,0,1,8,bf16,Megatron-LM,1,\n"),
               library(), calibration(), {});
  EXPECT_NE(scatter_svg(*report).find("<title>s-1 "), std::string::npos);
}

}  // namespace
}  // namespace tandem
