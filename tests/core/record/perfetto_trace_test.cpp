// Perfetto protobuf: decoded independently, and by protoc where there is one.
#include "core/record/perfetto_trace.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "core/record/trace_time.h"
#include "tests/support/protobuf_reader.h"
#include "tests/support/random_record.h"
#include "tests/support/record_builder.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::read_protobuf;
using testing::RecordBuilder;

std::string exported(const RunRecord& record) {
  std::ostringstream out;
  write_perfetto_trace(record, out);
  return out.str();
}

struct Slice {
  std::string name, category;
  std::uint64_t start = 0, end = 0;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::uint64_t> numbers;
  std::set<std::uint64_t> flows, ended_flows;
};
struct Track {
  std::string name;
  std::uint64_t parent = 0;
  bool ordered = false, counter = false;
  std::uint64_t order = 0;
  std::vector<Slice> slices;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> values;
};

// What a reader of the format makes of a trace; throws where the trace breaks its rules.
std::map<std::uint64_t, Track> decoded(const std::string& bytes) {
  std::map<std::uint64_t, Track> tracks;
  std::map<std::uint32_t, std::map<std::uint64_t, std::string>> interned;
  std::map<std::uint64_t, std::uint64_t> time;
  std::map<std::uint64_t, bool> open;
  const auto expect = [](bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
  };
  const auto number = [](const auto& fields, std::uint32_t field) {
    const auto place = fields.find(field);
    return place == fields.end() ? 0 : place->second.number;
  };
  const auto text = [](const auto& fields, std::uint32_t field) {
    const auto place = fields.find(field);
    return place == fields.end() ? std::string() : std::string(place->second.bytes);
  };
  bool first = true;
  for (const auto& [one, packet_field] : read_protobuf(bytes)) {
    expect(one == 1, "a trace has only packets");
    const auto packet = read_protobuf(packet_field.bytes);
    expect(number(packet, 10) == 1, "one sequence");
    if (first) expect(number(packet, 13) == 1, "the first packet clears the interning state");
    first = false;
    if (packet.contains(12))
      for (const auto& [kind, entry_field] : read_protobuf(packet.find(12)->second.bytes)) {
        const auto entry = read_protobuf(entry_field.bytes);
        expect(interned[kind].emplace(number(entry, 1), text(entry, 2)).second, "a number is interned once");
        expect(number(entry, 1) != 0, "interned numbers start at 1");
      }
    if (packet.contains(60)) {
      const auto described = read_protobuf(packet.find(60)->second.bytes);
      Track track{text(described, 2),
                  number(described, 5),
                  number(described, 11) == 3,
                  described.contains(8),
                  number(described, 12),
                  {},
                  {}};
      expect(track.parent == 0 || tracks.contains(track.parent), "a parent comes first");
      expect(tracks.emplace(number(described, 1), track).second, "track numbers are distinct");
    }
    if (!packet.contains(11)) continue;
    const auto event = read_protobuf(packet.find(11)->second.bytes);
    const std::uint64_t id = number(event, 11), now = number(packet, 8);
    expect(tracks.contains(id), "an event's track is described before it");
    expect(now >= time[id], "time on a track does not run backwards");
    time[id] = now;
    Track& track = tracks[id];
    switch (number(event, 9)) {
      case 1: {
        expect(!open[id], "slices of a lane do not nest");
        open[id] = true;
        Slice slice{
            interned.at(2).at(number(event, 10)), interned.at(1).at(number(event, 3)), now, 0, {}, {}, {}, {}};
        const auto [from, to] = event.equal_range(4);
        for (auto place = from; place != to; ++place) {
          const auto annotation = read_protobuf(place->second.bytes);
          const std::string& key = interned.at(3).at(number(annotation, 1));
          if (annotation.contains(6)) slice.texts[key] = text(annotation, 6);
          if (annotation.contains(3)) slice.numbers[key] = number(annotation, 3);
          if (annotation.contains(5))
            slice.numbers[key] = static_cast<std::uint64_t>(std::bit_cast<double>(number(annotation, 5)));
        }
        if (event.contains(47)) slice.flows.insert(number(event, 47));
        if (event.contains(48)) slice.ended_flows.insert(number(event, 48));
        track.slices.push_back(slice);
        break;
      }
      case 2:
        expect(open[id], "an end has a begin");
        open[id] = false;
        track.slices.back().end = now;
        break;
      case 4:
        expect(track.counter, "values are of counter tracks");
        track.values.emplace_back(now, number(event, 30));
        break;
      default:
        throw std::runtime_error("an event of no known type");
    }
  }
  for (const auto& [id, is_open] : open) expect(!is_open, "every slice ends");
  return tracks;
}

RunRecord two_stages() {
  RecordBuilder builder;
  builder.rank(8, 0).rank(0, 1, 4);
  builder.compute(8, Phase::Forward, 0, 1.5e-3, 3);
  builder.send(8, 7, 1.5e-3, 2e-3);
  builder.receive(0, 7, 1.5e-3, 2e-3);
  builder.collective(0, Lane::Tensor, 1e-9, 1e-3);
  RunRecord record = builder.record();
  record.tasks[0].detail = "matmul 4096x4096x1024 bf16";
  record.memory = {{RankId(8), Seconds(1e-3), {Bytes(1), Bytes(2), Bytes(3), Bytes(4), Bytes(5), Bytes(6)}},
                   {RankId(8), Seconds(2e-3), {Bytes(9), Bytes(2), Bytes(3), Bytes(4), Bytes(5), Bytes(6)}}};
  return record;
}

const Track& track_named(const std::map<std::uint64_t, Track>& tracks, std::string_view name) {
  for (const auto& [id, track] : tracks)
    if (track.name == name) return track;
  throw std::runtime_error("no track " + std::string(name));
}

TEST(PerfettoTrace, HasATrackALaneBelowATrackARank) {
  const auto tracks = decoded(exported(two_stages()));
  const Track& lane = track_named(tracks, name(Lane::SendNext));
  const Track& rank = tracks.at(lane.parent);
  EXPECT_EQ(rank.name, "stage 0 rank 8 (device 8, node 1)");
  EXPECT_TRUE(rank.ordered);
  EXPECT_TRUE(tracks.at(rank.parent).ordered);
  EXPECT_EQ(tracks.at(rank.parent).parent, 0u);
  EXPECT_LT(rank.order, track_named(tracks, "stage 1 rank 0 (device 0, node 0, like 4 ranks)").order);
}

TEST(PerfettoTrace, SlicesHaveNamesTimesAndAnnotations) {
  const auto tracks = decoded(exported(two_stages()));
  const Track& lane = track_named(tracks, name(Lane::Compute));
  ASSERT_EQ(lane.slices.size(), 1u);
  const Slice& slice = lane.slices[0];
  EXPECT_EQ(slice.name, "L0.mlp.up/" + std::string(name(Phase::Forward)));
  EXPECT_EQ(slice.category, name(Phase::Forward));
  EXPECT_EQ(slice.start, 0u);
  EXPECT_EQ(slice.end, 1'500'000u);
  EXPECT_EQ(slice.texts.at("detail"), "matmul 4096x4096x1024 bf16");
  EXPECT_EQ(slice.numbers.at("microbatch"), 3u);
  EXPECT_EQ(slice.numbers.at("flops"), 1'000'000'000u);
}

TEST(PerfettoTrace, AFlowLeadsFromSendToReceive) {
  const auto tracks = decoded(exported(two_stages()));
  const auto& started = track_named(tracks, name(Lane::SendNext)).slices[0].flows;
  EXPECT_EQ(started.size(), 1u);
  EXPECT_EQ(track_named(tracks, name(Lane::ReceivePrevious)).slices[0].ended_flows, started);
}

TEST(PerfettoTrace, MemoryIsACounterAClass) {
  const auto tracks = decoded(exported(two_stages()));
  const Track& weights = track_named(tracks, "memory: " + std::string(name(BufferClass::Weights)));
  using Values = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(weights.values, (Values{{1'000'000, 1}, {2'000'000, 9}}));
  EXPECT_EQ(tracks.at(weights.parent).name, "stage 0 rank 8 (device 8, node 1)");
}

TEST(PerfettoTrace, RandomRecordsKeepTheRulesOfTheFormat) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RunRecord record = testing::random_record(seed);
    const auto tracks = decoded(exported(record));
    std::size_t slices = 0;
    std::set<std::uint64_t> started, ended;
    for (const auto& [id, track] : tracks) {
      slices += track.slices.size();
      for (const Slice& slice : track.slices) {
        EXPECT_LE(slice.start, slice.end);
        started.insert(slice.flows.begin(), slice.flows.end());
        ended.insert(slice.ended_flows.begin(), slice.ended_flows.end());
      }
    }
    EXPECT_EQ(slices, record.spans.size()) << seed;
    EXPECT_EQ(started, ended) << seed;
  }
}

TEST(PerfettoTrace, IsReadByProtoc) {
  if (std::system("protoc --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "protoc is not installed (apt: protobuf-compiler)";
  testing::TemporaryFolder folder;
  std::ofstream(folder.file("trace"), std::ios::binary) << exported(two_stages());
  const std::string command = "protoc --decode=tandem.Trace -I " TANDEM_SOURCE_DIR
                              "/tests/support perfetto_subset.proto < " +
                              folder.file("trace") + " > " + folder.file("text");
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(folder.file("text"));
  std::size_t packets = 0, begins = 0, ends = 0, counters = 0;
  for (std::string line; std::getline(in, line);) {
    packets += line == "packet {";
    begins += line == "    type: 1";
    ends += line == "    type: 2";
    counters += line == "    type: 4";
    // A field that the schema does not have is printed as its bare number.
    const std::size_t start = line.find_first_not_of(' ');
    EXPECT_FALSE(start != std::string::npos && std::isdigit(static_cast<unsigned char>(line[start]))) << line;
  }
  EXPECT_EQ(begins, 4u);
  EXPECT_EQ(ends, 4u);
  EXPECT_EQ(counters, 12u);
  // A root, two ranks, four lanes, six counters; two a slice; one a counter value.
  EXPECT_EQ(packets, 13u + 8u + 12u);
}

TEST(TraceTime, NeighboursTouchAndNothingOverlaps) {
  RecordBuilder builder;
  builder.compute(0, Phase::Forward, 0, 1.00000000049);
  builder.compute(0, Phase::Forward, 1.00000000049, 1.00000000051);
  builder.compute(0, Phase::Forward, 1.0, 2);
  check_record(builder.record());
  const auto times = trace_intervals(builder.record());
  EXPECT_EQ(times[0].end, times[1].start);
  EXPECT_GE(times[2].start, times[1].end);
  EXPECT_EQ(times[2].end, 2'000'000'000);
}

}  // namespace
}  // namespace tandem
