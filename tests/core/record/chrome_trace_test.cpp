// Chrome JSON: parsed back, it has Kineto's fields, rows without overlap, and arrows with two ends.
#include "core/record/chrome_trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/random_record.h"
#include "tests/support/record_builder.h"

namespace tandem {
namespace {

using nlohmann::json;
using testing::RecordBuilder;

json exported(const RunRecord& record) {
  std::ostringstream out;
  write_chrome_trace(record, out);
  return json::parse(out.str());
}

std::vector<json> events(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("ph") == phase) found.push_back(event);
  return found;
}

json event_named(const json& trace, const std::string& name) {
  for (const json& event : trace.at("traceEvents"))
    if (event.at("name") == name) return event;
  ADD_FAILURE() << "no event " << name;
  return {};
}

RunRecord two_stages() {
  RecordBuilder builder;
  builder.rank(0, 0, 8).rank(8, 1, 8);
  const auto forward = builder.compute(0, Phase::Forward, 0, 1.5e-3, 3);
  builder.collective(0, Lane::Tensor, 0, 1e-3);
  builder.collective(8, Lane::Data, 0, 1e-3, CollectiveKind::AllGather, 4);
  builder.collective(8, Lane::Data, 1e-3, 1.1e-3, CollectiveKind::ReduceScatter, 4);
  builder.add(0, Lane::Copy, {.label = "offload", .kind = TaskKind::Copy, .bytes = Bytes(5)}, 0, 1e-3);
  const auto send = builder.send(0, 7, 1.5e-3, 2e-3);
  builder.held(send, HeldBy::Dependency, forward);
  builder.receive(8, 7, 1.5e-3, 2e-3);
  RunRecord record = builder.record();
  record.device_kinds = {{"H100 SXM", gibibytes(80), gigabytes_per_second(3350), {}, 132}};
  record.memory = {{RankId(0), Seconds(1e-3), {Bytes(1), Bytes(2), Bytes(3), Bytes(4), Bytes(5), Bytes(6)}}};
  return record;
}

TEST(ChromeTrace, HasTheTopLevelKeysOfKineto) {
  const json trace = exported(two_stages());
  EXPECT_EQ(trace.at("schemaVersion"), 1);
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  EXPECT_EQ(trace.at("baseTimeNanoseconds"), 0);
  EXPECT_EQ(trace.at("distributedInfo").at("world_size"), 16);
  EXPECT_EQ(trace.at("distributedInfo").at("rank"), 0);
  const json& devices = trace.at("deviceProperties");
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].at("id"), 8);
  EXPECT_EQ(devices[1].at("name"), "H100 SXM");
  EXPECT_EQ(devices[1].at("totalGlobalMem"), 80ull << 30);
  EXPECT_EQ(devices[1].at("numSms"), 132);
}

TEST(ChromeTrace, ComputationIsAKernelOnItsRankAndLane) {
  const json kernel = event_named(exported(two_stages()), "L0.mlp.up/" + std::string(name(Phase::Forward)));
  EXPECT_EQ(kernel.at("ph"), "X");
  EXPECT_EQ(kernel.at("cat"), "kernel");
  EXPECT_EQ(kernel.at("pid"), 0);
  EXPECT_EQ(kernel.at("tid"), 0);
  EXPECT_DOUBLE_EQ(kernel.at("ts"), 0);
  EXPECT_DOUBLE_EQ(kernel.at("dur"), 1500);
  EXPECT_EQ(kernel.at("args").at("device"), 0);
  EXPECT_EQ(kernel.at("args").at("stream"), 0);
  EXPECT_EQ(kernel.at("args").at("microbatch"), 3);
  EXPECT_EQ(kernel.at("args").at("flops"), 1e9);
}

TEST(ChromeTrace, CollectivesCarryKinetosArguments) {
  const json args = event_named(exported(two_stages()), "ncclDevKernel_AllReduce_Sum_RING").at("args");
  EXPECT_EQ(args.at("Collective name"), "allreduce");
  EXPECT_EQ(args.at("In msg nelems"), 64 << 20);
  EXPECT_EQ(args.at("Out msg nelems"), 64 << 20);
  EXPECT_EQ(args.at("Group size"), 8);
  EXPECT_EQ(args.at("dtype"), "Byte");
  EXPECT_EQ(args.at("Process Group Name"), "tp");
}

TEST(ChromeTrace, GatherAndScatterSizesAreThoseOfOneRank) {
  const json trace = exported(two_stages());
  const json gather = event_named(trace, "ncclDevKernel_AllGather_RING").at("args");
  EXPECT_EQ(gather.at("In msg nelems"), 16 << 20);
  EXPECT_EQ(gather.at("Out msg nelems"), 64 << 20);
  const json scatter = event_named(trace, "ncclDevKernel_ReduceScatter_Sum_RING").at("args");
  EXPECT_EQ(scatter.at("In msg nelems"), 64 << 20);
  EXPECT_EQ(scatter.at("Out msg nelems"), 16 << 20);
}

TEST(ChromeTrace, CopiesAreMemcpy) {
  EXPECT_EQ(
      event_named(exported(two_stages()), "Memcpy offload/" + std::string(name(Phase::Forward))).at("cat"),
      "gpu_memcpy");
}

TEST(ChromeTrace, StepsAreProfilerSteps) {
  const json step = event_named(exported(two_stages()), "ProfilerStep#0");
  EXPECT_EQ(step.at("cat"), "user_annotation");
  EXPECT_DOUBLE_EQ(step.at("ts"), 0);
  EXPECT_DOUBLE_EQ(step.at("dur"), 2000);
}

TEST(ChromeTrace, NamesRanksAndLanes) {
  std::set<std::string> names;
  for (const json& event : events(exported(two_stages()), "M"))
    if (event.at("args").contains("name")) names.insert(event.at("args").at("name"));
  EXPECT_TRUE(names.contains("stage 1 rank 8 (device 8, node 1, like 8 ranks)"));
  EXPECT_TRUE(names.contains(std::string(name(Lane::ReceivePrevious))));
}

TEST(ChromeTrace, MemoryIsACounterByClass) {
  const auto counters = events(exported(two_stages()), "C");
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].at("name"), "memory");
  EXPECT_EQ(counters[0].at("args").size(), 6u);
  EXPECT_EQ(counters[0].at("args").at(std::string(name(BufferClass::OptimizerState))), 3);
}

TEST(ChromeTrace, AMessageIsAnArrowFromSendToReceive) {
  const json trace = exported(two_stages());
  const auto starts = events(trace, "s"), ends = events(trace, "f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0].at("id"), ends[0].at("id"));
  EXPECT_EQ(starts[0].at("pid"), 0);
  EXPECT_EQ(ends[0].at("pid"), 8);
  EXPECT_EQ(ends[0].at("bp"), "e");
  EXPECT_EQ(event_named(trace, "ncclDevKernel_SendRecv").at("args").at("Dst Rank"), 8);
}

TEST(ChromeTrace, NoArrowWhereASideWasNotRecorded) {
  RecordBuilder builder;
  builder.send(0, 3, 0, 1);
  EXPECT_TRUE(events(exported(builder.record()), "s").empty());
}

TEST(ChromeTrace, EscapesNamesThatAreNotProperText) {
  RecordBuilder builder;
  builder.add(0, Lane::Compute, {.label = "a\"\\\n\xff"}, 0, 1);
  builder.record().header.model = "\xc3\x28\x01";
  EXPECT_EQ(events(exported(builder.record()), "X").size(), 2u);
}

TEST(ChromeTrace, RowsOfRandomRecordsDoNotOverlap) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RunRecord record = testing::random_record(seed);
    const json trace = exported(record);
    std::map<std::pair<int, int>, double> busy_until;
    std::size_t kernels = 0;
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> slices;
    for (const json& event : events(trace, "X")) {
      const std::pair row(event.at("pid").get<int>(), event.at("tid").get<int>());
      // Exact to the nanosecond: three decimals of µs.
      const double start = std::round(event.at("ts").get<double>() * 1000),
                   end = start + std::round(event.at("dur").get<double>() * 1000);
      EXPECT_GE(start, busy_until[row]) << seed;
      busy_until[row] = end;
      slices[row].emplace_back(start, end);
      kernels += event.at("cat") != "user_annotation";
    }
    EXPECT_EQ(kernels, record.spans.size());
    for (const char* phase : {"s", "f"})
      for (const json& flow : events(trace, phase)) {
        const double at = std::round(flow.at("ts").get<double>() * 1000);
        bool inside = false;
        for (const auto& [start, end] : slices[{flow.at("pid").get<int>(), flow.at("tid").get<int>()}])
          inside |= start <= at && at <= end;
        EXPECT_TRUE(inside) << seed;
      }
    EXPECT_EQ(events(trace, "s").size(), events(trace, "f").size());
  }
}

}  // namespace
}  // namespace tandem
