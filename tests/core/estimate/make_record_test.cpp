// Records of estimated steps: complete, checked, and explained without gaps.
#include "core/estimate/make_record.h"

#include <gtest/gtest.h>

#include <random>

#include "core/cluster/catalog.h"
#include "core/cost/calibration.h"
#include "core/estimate/estimate.h"
#include "core/estimate/work_text.h"
#include "core/record/breakdown.h"
#include "core/record/critical_path.h"
#include "tests/support/graph_builder.h"

namespace tandem {
namespace {

using testing::GraphBuilder;
using testing::pipeline_graph;
using testing::PipelineShape;

const Cluster& machine() {
  static const Cluster cluster =
      build_cluster(cluster_from_text(read_catalog(TANDEM_SOURCE_DIR "/scenarios/clusters"), "dgx-h100:2", {}));
  return cluster;
}

const CostModel& costs() {
  static const CostModel model(read_calibration(TANDEM_SOURCE_DIR "/scenarios/calibrations"), "megatron",
                               machine());
  return model;
}

RunRecord estimated(const TaskGraph& graph, std::vector<RankId> recorded = {}) {
  PlayOptions options;
  options.fidelity = Fidelity::Estimate;
  options.recorded = std::move(recorded);
  RecordHeader header;
  header.backend = "estimate";
  header.program_version = "test";
  return make_record(graph, estimate(graph, machine(), costs(), options), machine(), costs(), header);
}

// The builder's `host` is the traffic of its kernels: a gigabyte takes a third of a millisecond or so.
PipelineShape shape() {
  PipelineShape shape;
  shape.tp = 2;
  shape.pp = 4;
  shape.dp = 2;
  shape.microbatches = 6;
  shape.host = 1e9;
  return shape;
}

TEST(MakeRecord, HoldsASpanForEveryTaskOfTheRecordedRanks) {
  const TaskGraph graph = pipeline_graph(shape());
  const RunRecord record = estimated(graph);
  check_record(record);
  std::size_t tasks = 0;
  for (std::uint32_t stage = 0; stage < 4; ++stage) tasks += graph.programs[ProgramId(stage)].tasks.size();
  EXPECT_EQ(record.spans.size(), tasks);
  EXPECT_EQ(record.tasks.size(), tasks);
  EXPECT_GT(record.summary.at("step_time_s"), 0);
  EXPECT_EQ(record.header.fidelity, name(Fidelity::Estimate));
}

TEST(MakeRecord, ThePartsOfTheRanksStandForAll) {
  const RunRecord record = estimated(pipeline_graph(shape()));
  std::uint32_t ranks = 0;
  for (const RecordLane& lane : record.lanes)
    if (lane.lane == Lane::Compute) ranks += lane.multiplicity;
  EXPECT_EQ(ranks, 16u);
}

TEST(MakeRecord, RanksOfOneProgramShareItsTasks) {
  const TaskGraph graph = pipeline_graph(shape());
  const RunRecord record = estimated(graph, {RankId(0), RankId(1)});
  check_record(record);
  EXPECT_EQ(record.spans.size(), 2 * record.tasks.size());
}

TEST(MakeRecord, LanesKnowTheirPlace) {
  const RunRecord record = estimated(pipeline_graph(shape()));
  const RecordLane& last = record.lanes.back();
  EXPECT_EQ(last.stage, 3u);
  EXPECT_EQ(last.rank, RankId(12));
  EXPECT_EQ(last.device, 12u);
  EXPECT_EQ(last.node, 1u);
  EXPECT_EQ(record.device_kinds.at(last.device_kind).memory, machine().kind(DeviceId(12)).memory);
}

TEST(MakeRecord, CriticalPathLeavesNothingUnexplained) {
  const RunRecord record = estimated(pipeline_graph(shape()));
  const CriticalPath path = critical_path(record);
  EXPECT_NEAR(path.length.value, record.summary.at("step_time_s"), 1e-12);
  EXPECT_NEAR(path.by_activity[static_cast<std::size_t>(Activity::Idle)].value, 0, 1e-9);
  EXPECT_EQ(path.segments.front().start, Seconds(0));
}

TEST(MakeRecord, BreakdownSumsToTheStep) {
  const RunRecord record = estimated(pipeline_graph(shape()));
  const Breakdown mean = breakdown(record).mean;
  double sum = 0;
  for (const Seconds part : mean.parts) sum += part.value;
  EXPECT_NEAR(sum, record.summary.at("step_time_s"), 1e-12);
  EXPECT_GT(mean[Activity::Bubble], Seconds(0));
  EXPECT_GT(mean[Activity::Tensor], Seconds(0));
}

// Equal stages, nothing but computation and messages of no size worth mentioning: (p - 1) / (m + p - 1) of the
// step.
TEST(MakeRecord, BubbleOfEqualStagesIsTheClosedForm) {
  MeshShape mesh;
  mesh.pp = 4;
  GraphBuilder builder(mesh);
  constexpr std::uint32_t microbatches = 8;
  Compute forward, backward, update;
  forward.kernel = MatrixProduct{.m = 8192, .n = 8192, .k = 8192};
  backward.kernel = forward.kernel;
  backward.phase = Phase::InputGradient;
  for (std::uint32_t stage = 0; stage < 4; ++stage) {
    const ProgramId program = builder.add_program();
    builder.assign(RankId(stage), program);
    // GPipe: all forward, then all backward.
    for (std::uint32_t i = 0; i < microbatches; ++i) {
      std::vector<std::uint32_t> after;
      if (stage > 0)
        after = {builder.add(program, Lane::ReceivePrevious, Receive{Axis::Pipeline, stage - 1, Bytes(1)}, {},
                             100 * stage + i)};
      after = {builder.add(program, Lane::Compute, forward, after)};
      if (stage < 3)
        builder.add(program, Lane::SendNext, Send{Axis::Pipeline, stage + 1, Bytes(1)}, after,
                    100 * (stage + 1) + i);
    }
    for (std::uint32_t i = 0; i < microbatches; ++i) {
      std::vector<std::uint32_t> after;
      if (stage < 3)
        after = {builder.add(program, Lane::ReceiveNext, Receive{Axis::Pipeline, stage + 1, Bytes(1)}, {},
                             1000 + 100 * stage + i)};
      after = {builder.add(program, Lane::Compute, backward, after)};
      if (stage > 0)
        builder.add(program, Lane::SendPrevious, Send{Axis::Pipeline, stage - 1, Bytes(1)}, after,
                    1000 + 100 * (stage - 1) + i);
    }
  }
  const Breakdown mean = breakdown(estimated(builder.graph())).mean;
  // The messages' own latency is exposed beside the bubble.
  const double rest = (mean.exposed_communication() + mean[Activity::Host] + mean[Activity::Idle]) / mean.step;
  EXPECT_NEAR(mean.bubble_fraction(), 3.0 / 11, rest);
  EXPECT_LT(rest, 0.02);
}

TEST(MakeRecord, SaysWhereEveryDurationCameFrom) {
  const RunRecord record = estimated(pipeline_graph(shape()));
  ASSERT_FALSE(record.origins.empty());
  for (const RecordTask& task : record.tasks)
    if (task.kind != TaskKind::Input && task.kind != TaskKind::Copy) {
      ASSERT_NE(task.origin, no_origin) << task.label;
      EXPECT_FALSE(record.origins[task.origin].empty());
    }
}

TEST(MakeRecord, IsWrittenAndReadBack) {
  const RunRecord record = estimated(pipeline_graph(shape()));
  const std::string path = ::testing::TempDir() + "/make_record_test.tandem";
  write_record(record, path);
  EXPECT_EQ(read_record(path).spans, record.spans);
  std::remove(path.c_str());
}

TEST(WorkText, SaysWhatAndHowMuch) {
  EXPECT_EQ(work_text(Compute{
                .kernel = MatrixProduct{.m = 4096, .n = 4096, .k = 1024}, .flops = {}, .model_flops = {}}),
            "matmul 4096x4096x1024 bf16");
  EXPECT_EQ(work_text(Collective{.size = Bytes(64 << 20)}, Algorithm::Ring, 8),
            "all_reduce ring 64 MiB over 8 (tp)");
  EXPECT_EQ(work_text(Send{Axis::Pipeline, 3, Bytes(16 << 20)}), "send 16 MiB to stage 3");
}

TEST(CompulsoryBytes, ReadOperandsAndWriteResultsOnce) {
  Compute compute;
  compute.kernel = MatrixProduct{.m = 2, .n = 3, .k = 5, .batch = 7, .output_bytes = 4};
  EXPECT_EQ(compulsory_bytes(compute).value, 7 * ((10 + 15) * 2 + 6 * 4));
  compute.kernel = FusedAttention{
      .batch = 2, .heads = 4, .kv_heads = 1, .q_length = 3, .kv_length = 5, .qk_head_dim = 8, .v_head_dim = 8};
  EXPECT_EQ(compulsory_bytes(compute).value, 2 * (2 * 12 + 2 * 5) * 8 * 2);
}

std::vector<MemoryPoint> random_curve(std::size_t count) {
  std::mt19937 random(1);
  std::vector<MemoryPoint> points(count);
  for (std::size_t i = 0; i < count; ++i) {
    points[i].time = Seconds(static_cast<double>(i));
    for (Bytes& live : points[i].live) live = Bytes(static_cast<double>(random() % 1'000'000));
  }
  return points;
}

TEST(ThinnedCurve, KeepsPeaksEndsAndOrder) {
  const auto points = random_curve(50'000);
  const auto kept = thinned(points, 2000);
  EXPECT_LE(kept.size(), 2000u);
  EXPECT_GT(kept.size(), 1500u);
  const auto sum = [](const MemoryPoint& point) {
    double total = 0;
    for (const Bytes live : point.live) total += live.value;
    return total;
  };
  const auto peak = [&](const std::vector<MemoryPoint>& curve, auto value) {
    double most = 0;
    for (const MemoryPoint& point : curve) most = std::max(most, value(point));
    return most;
  };
  EXPECT_EQ(peak(kept, sum), peak(points, sum));
  for (std::size_t i = 0; i < points.front().live.size(); ++i) {
    const auto of_class = [&](const MemoryPoint& point) { return point.live[i].value; };
    EXPECT_EQ(peak(kept, of_class), peak(points, of_class));
  }
  EXPECT_EQ(kept.front().time, points.front().time);
  EXPECT_EQ(kept.back().time, points.back().time);
  for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_LT(kept[i - 1].time, kept[i].time);
}

TEST(ThinnedCurve, LeavesAShortOneAlone) { EXPECT_EQ(thinned(random_curve(100), 2000).size(), 100u); }

}  // namespace
}  // namespace tandem
