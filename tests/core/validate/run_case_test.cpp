// Rows become cases: what is read, what is assumed, what is left out and why.
#include "core/validate/run_case.h"

#include <gtest/gtest.h>

#include "core/problem/problem.h"

namespace tandem {
namespace {

const std::string scenarios = TANDEM_SOURCE_DIR "/scenarios";

const Library& library() {
  static const Library shipped = read_library(scenarios);
  return shipped;
}

RunRow row() {
  RunRow r;
  r.id = "some-0001";
  r.set = "some";
  r.model_name = "Llama 3.1 8B";
  r.params_b = 8.03;
  r.layers = 32;
  r.hidden = 4096;
  r.ffn_hidden = 14336;
  r.heads = 32;
  r.kv_heads = 8;
  r.vocab = 128256;
  r.seq_len = 8192;
  r.gpu = "H100";
  r.num_gpus = 16;
  r.gpus_per_node = 8;
  r.tp = 2;
  r.pp = 1;
  r.micro_batch = 1;
  r.global_batch = 128;
  r.precision = "bf16";
  r.framework = "Megatron-Core";
  r.iteration_s = 5;
  return r;
}

RunCase accepted(const RunRow& r) {
  std::variant<RunCase, Skip> made = run_case(r, library());
  if (const Skip* skip = std::get_if<Skip>(&made)) throw std::runtime_error("skipped: " + skip->reason);
  return std::get<RunCase>(made);
}
std::string reason(const RunRow& r) {
  const std::variant<RunCase, Skip> made = run_case(r, library());
  const Skip* skip = std::get_if<Skip>(&made);
  return skip ? skip->reason : "";
}

TEST(RunCase, TakesDegreesBatchAndMachineFromTheRow) {
  const RunCase run = accepted(row());
  EXPECT_EQ(run.plan.tensor_model_parallel_size, 2);
  EXPECT_EQ(run.plan.data_parallel_size, 8);
  EXPECT_EQ(run.plan.global_batch_size, 128);
  EXPECT_EQ(run.cluster.groups.front().count, 2);
  EXPECT_EQ(run.cluster.groups.front().device.id, "h100-sxm5-80gb");
  EXPECT_EQ(*run.measured_s, 5);
}

TEST(RunCase, SaysWhichDefaultsItTook) {
  const RunCase run = accepted(row());
  EXPECT_NE(std::find(run.assumed.begin(), run.assumed.end(), "zero_stage = 1"), run.assumed.end());
  EXPECT_TRUE(run.plan.sequence_parallel);
}

TEST(RunCase, ChoosesAGatedModelWhereThePrintedParametersFitOne) {
  EXPECT_TRUE(accepted(row()).model.gated_mlp);
  RunRow plain = row();
  plain.model_name = "model";
  plain.kv_heads = 32;
  plain.ffn_hidden = 16384;
  plain.vocab = 51200;
  plain.params_b = 6.65;
  EXPECT_FALSE(accepted(plain).model.gated_mlp);
}

TEST(RunCase, TurnsThroughputIntoTime) {
  RunRow r = row();
  r.iteration_s.reset();
  r.tokens_per_s_per_gpu = 8192;
  EXPECT_NEAR(*accepted(r).measured_s, 8, 1e-12);
}

TEST(RunCase, NeverTurnsTflopsIntoTimeWithoutTheirConvention) {
  RunRow r = row();
  r.iteration_s.reset();
  r.tflops_per_gpu = 400;
  r.framework = "torchtitan";
  r.zero_stage = 3;
  EXPECT_EQ(reason(r), "only TFLOP/s are printed, under a convention that is not stated");
  r.flops_formula = "6N+attn_half";
  const double half = *accepted(r).measured_s;
  r.flops_formula = "6N+attn_full";
  EXPECT_GT(*accepted(r).measured_s, half);
}

TEST(RunCase, LeavesRowsOutByNamedRules) {
  const auto with = [](auto change) {
    RunRow r = row();
    change(r);
    return reason(r);
  };
  EXPECT_EQ(with([](RunRow& r) { r.layers.reset(); }), "model dimensions are missing");
  EXPECT_EQ(with([](RunRow& r) { r.tp.reset(); }), "parallel layout is not stated");
  EXPECT_EQ(with([](RunRow& r) { r.global_batch.reset(); }), "global batch is not stated");
  EXPECT_EQ(with([](RunRow& r) { r.iteration_s.reset(); }), "no time, throughput or rate is printed");
  EXPECT_EQ(with([](RunRow& r) { r.dp = 3; }), "tp x pp x cp x dp differs from the devices");
  EXPECT_EQ(with([](RunRow& r) { r.notes = "LoRA rank 16"; }), "frozen weights (LoRA) are not modelled");
  EXPECT_EQ(with([](RunRow& r) { r.framework = "somebody's own"; }), "framework has no profile");
  EXPECT_EQ(with([](RunRow& r) { r.gpu = "Abacus"; }), "device is not among the calibrated ones");
  EXPECT_EQ(with([](RunRow& r) { r.check = "tflops/peak vs mfu x0.85"; }),
            "flagged by its table: figures contradict each other");
}

TEST(RunCase, ReadsTheStateOfTheClusterFromTheTestThatTheJobRan) {
  RunRow r = row();
  r.framework = "nanotron";
  r.num_gpus = 64;
  r.notes = "job 1; after_pp_fix=True; job network test AR/AG/RS GB/s 190/100/100";
  EXPECT_EQ(accepted(r).framework, "nanotron");
  r.notes = "job 1; after_pp_fix=True; job network test AR/AG/RS GB/s 95/50/50";
  EXPECT_EQ(accepted(r).framework, "nanotron-crowded");
  r.pp = 2;
  r.notes = "job 1; after_pp_fix=False; job network test AR/AG/RS GB/s 95/50/50";
  EXPECT_EQ(accepted(r).framework, "nanotron-crowded-old-pipeline");
}

TEST(RunCase, DealsBlocksByCostAsNanotronDoes) {
  RunRow r = row();
  r.framework = "nanotron";
  r.layers = 16;
  r.hidden = 2048;
  r.ffn_hidden = 8192;
  r.heads = r.kv_heads = 32;
  r.vocab = 131072;
  r.params_b = 1.34;
  r.tp = 1;
  r.pp = 4;
  // The head weighs as much as four blocks: 20 shares over 4 stages.
  EXPECT_EQ(accepted(r).plan.pipeline_layers, (std::vector<std::int64_t>{5, 5, 5, 1}));
}

TEST(RunCase, ReadsNetworksInTheWordsOfTables) {
  const auto network = [](const std::string& words) {
    RunRow r = row();
    r.inter_node_net = words;
    const NodeType node = accepted(r).cluster.groups.front().type;
    return node.network + " x " + std::to_string(node.ports);
  };
  EXPECT_EQ(network("8x400Gb/s IB NDR per node"), "ib-ndr x 8");
  EXPECT_EQ(network("1600Gb/s RoCE per node"), "roce-200 x 8");
  EXPECT_EQ(network("800 Gb/s per node (value in repo validation config)"), "ib-hdr x 4");
  EXPECT_EQ(network("AWS EFAv2 3200Gb/s per node (p5)"), "efa-v2 x 32");
  EXPECT_EQ(network(""), "ib-ndr x 8");
}

TEST(RunRows, NamesSetsByTheIdWithoutItsNumber) {
  const CsvTable table =
      parse_csv("id,layers,hidden,gpu,num_gpus\nkorthikanti-t5-0002,,,,\nalone,,,,\n", "t.csv");
  const std::vector<RunRow> rows = run_rows(table);
  EXPECT_EQ(rows[0].set, "korthikanti-t5");
  EXPECT_EQ(rows[1].set, "alone");
}

TEST(RunRows, ReportsAllCellsThatAreNoNumbersWithTheirLines) {
  const CsvTable table =
      parse_csv("id,layers,hidden,gpu,num_gpus\na,many,1,H100,8\nb,2.5,1,H100,-8\n", "t.csv");
  try {
    run_rows(table);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    ASSERT_EQ(error.problems().size(), 3u);
    EXPECT_EQ(error.problems()[0].where.line, 2);
    EXPECT_EQ(error.problems()[2].where.line, 3);
  }
}

}  // namespace
}  // namespace tandem
