// Tracks, interned names, slices, counters and flows as trace packets.
#include "core/record/perfetto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/record/activity.h"
#include "core/record/messages.h"
#include "core/record/protobuf.h"
#include "core/record/trace_time.h"

namespace tandem {
namespace {

// Field numbers of google/perfetto protos/perfetto/trace: trace_packet.proto, track_event/*.proto,
// interned_data/interned_data.proto.
namespace trace {
constexpr std::uint32_t packet = 1;
}
namespace packet {
constexpr std::uint32_t timestamp = 8, sequence_id = 10, track_event = 11, interned_data = 12,
                        sequence_flags = 13, track_descriptor = 60;
}
namespace descriptor {
constexpr std::uint32_t uuid = 1, name = 2, parent = 5, counter = 8, child_ordering = 11, sibling_rank = 12,
                        sibling_merge = 15;
}
namespace counter {
constexpr std::uint32_t unit = 3;
}
namespace event {
constexpr std::uint32_t categories = 3, annotations = 4, type = 9, name = 10, track = 11, counter_value = 30,
                        flows = 47, terminating_flows = 48;
}
namespace interned {
constexpr std::uint32_t categories = 1, event_names = 2, annotation_names = 3;
}
namespace entry {
constexpr std::uint32_t iid = 1, name = 2;
}
namespace annotation {
constexpr std::uint32_t name = 1, unsigned_value = 3, double_value = 5, string_value = 6;
}
constexpr std::uint64_t slice_begin = 1, slice_end = 2, counter_event = 4;
constexpr std::uint64_t explicit_order = 3, no_merge = 2, unit_bytes = 3;
constexpr std::uint64_t state_cleared = 1, needs_state = 2, sequence = 1;

// Texts by number, announced in the packet that first uses them.
class Interner {
 public:
  explicit Interner(std::uint32_t field) : field_(field) {}
  std::uint64_t id(const std::string& text, ProtobufMessage& announcements) {
    const auto [place, is_new] = ids_.try_emplace(text, ids_.size() + 1);
    if (is_new)
      announcements.add(
          field_, ProtobufMessage().add(entry::iid, place->second).add(entry::name, std::string_view(text)));
    return place->second;
  }

 private:
  std::uint32_t field_;
  std::unordered_map<std::string, std::uint64_t> ids_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const RunRecord& record, std::ostream& out)
      : record_(record), out_(out), times_(trace_intervals(record)) {}

  void run() {
    tracks();
    std::vector<std::vector<std::uint32_t>> of_lane(record_.lanes.size());
    for (std::uint32_t i = 0; i < record_.spans.size(); ++i) of_lane[record_.spans[i].lane].push_back(i);
    find_flows();
    for (const auto& spans : of_lane)
      for (const std::uint32_t index : spans) slice(index);
    counters();
    flush();
  }

 private:
  void emit(ProtobufMessage& packet) {
    packet.add(packet::sequence_id, sequence);
    buffer_.add(trace::packet, packet);
    if (buffer_.bytes().size() > 1 << 16) flush();
  }
  void flush() {
    out_.write(buffer_.bytes().data(), static_cast<std::streamsize>(buffer_.bytes().size()));
    buffer_.clear();
  }

  std::uint64_t lane_track(std::size_t lane) const { return lane + 1; }
  std::uint64_t new_track() { return next_track_++; }

  void describe(ProtobufMessage& track, bool first = false) {
    ProtobufMessage packet;
    packet.add(packet::sequence_flags, first ? state_cleared : needs_state)
        .add(packet::track_descriptor, track);
    emit(packet);
  }

  // One root keeps ranks in order; tracks of equal names stay apart.
  void tracks() {
    next_track_ = record_.lanes.size() + 1;
    const std::uint64_t root = new_track();
    ProtobufMessage track;
    track.add(descriptor::uuid, root)
        .add(descriptor::name, std::string_view(record_.header.backend + " run"))
        .add(descriptor::child_ordering, explicit_order);
    describe(track, true);
    std::vector<std::size_t> order(record_.lanes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto place = [&](std::size_t i) {
      return std::tuple(record_.lanes[i].stage, record_.lanes[i].rank, record_.lanes[i].lane);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    for (const std::size_t i : order) {
      const RecordLane& lane = record_.lanes[i];
      const auto [parent, is_new] = rank_track_.try_emplace(lane.rank.value, 0);
      if (is_new) {
        parent->second = new_track();
        const std::string title = fmt::format(
            "stage {} rank {} (device {}, node {}{})", lane.stage, lane.rank.value, lane.device, lane.node,
            lane.multiplicity > 1 ? fmt::format(", like {} ranks", lane.multiplicity) : "");
        track.clear();
        track.add(descriptor::uuid, parent->second)
            .add(descriptor::parent, root)
            .add(descriptor::name, std::string_view(title));
        track.add(descriptor::child_ordering, explicit_order)
            .add(descriptor::sibling_rank, std::uint64_t{rank_track_.size()});
        track.add(descriptor::sibling_merge, no_merge);
        describe(track);
      }
      track.clear();
      track.add(descriptor::uuid, lane_track(i))
          .add(descriptor::parent, parent->second)
          .add(descriptor::name, name(lane.lane));
      track.add(descriptor::sibling_rank, std::uint64_t{static_cast<std::uint8_t>(lane.lane)})
          .add(descriptor::sibling_merge, no_merge);
      describe(track);
    }
  }

  void find_flows() {
    flow_.assign(record_.spans.size(), 0);
    std::uint64_t id = 0;
    for (const MessagePair& pair : message_pairs(record_)) flow_[pair.send] = flow_[pair.receive] = ++id;
  }

  std::string category(const RecordSpan& span) const {
    const RecordLane& lane = record_.lanes[span.lane];
    if (const auto axis = traffic_axis(lane.lane)) return std::string(name(*axis));
    return std::string(lane.lane == Lane::Compute ? name(record_.tasks[span.task].phase) : name(lane.lane));
  }

  void slice(std::uint32_t index) {
    const RecordSpan& span = record_.spans[index];
    const RecordTask& task = record_.tasks[span.task];
    const std::uint64_t track = lane_track(span.lane);
    ProtobufMessage announcements, event;
    event.add(event::type, slice_begin).add(event::track, track);
    event.add(event::name, names_.id(fmt::format("{}/{}", task.label, name(task.phase)), announcements));
    event.add(event::categories, categories_.id(category(span), announcements));
    annotate(event, announcements, task, span);
    if (flow_[index] != 0)
      event.add_fixed64(task.kind == TaskKind::Send ? event::flows : event::terminating_flows, flow_[index]);
    ProtobufMessage packet;
    packet.add(packet::timestamp, static_cast<std::uint64_t>(times_[index].start))
        .add(packet::sequence_flags, needs_state);
    if (!announcements.empty()) packet.add(packet::interned_data, announcements);
    packet.add(packet::track_event, event);
    emit(packet);
    packet.clear();
    packet.add(packet::timestamp, static_cast<std::uint64_t>(times_[index].end));
    packet.add(packet::track_event, ProtobufMessage().add(event::type, slice_end).add(event::track, track));
    emit(packet);
  }

  void annotate(ProtobufMessage& event, ProtobufMessage& announcements, const RecordTask& task,
                const RecordSpan& span) {
    const auto add = [&](const char* what, std::uint32_t field, auto value) {
      event.add(
          event::annotations,
          ProtobufMessage().add(annotation::name, annotations_.id(what, announcements)).add(field, value));
    };
    if (!task.detail.empty()) add("detail", annotation::string_value, std::string_view(task.detail));
    if (task.microbatch != no_microbatch)
      add("microbatch", annotation::unsigned_value, std::uint64_t{task.microbatch});
    if (task.flops > Flops(0)) add("flops", annotation::double_value, task.flops.value);
    if (task.bytes > Bytes(0)) add("bytes", annotation::double_value, task.bytes.value);
    if (task.kind == TaskKind::Collective)
      add("group size", annotation::unsigned_value, std::uint64_t{task.group_size});
    if (span.held_by != 0) add("held by", annotation::string_value, name(static_cast<HeldBy>(span.held_by)));
  }

  void counters() {
    using Classes = std::array<std::uint64_t, static_cast<std::size_t>(BufferClass::Count)>;
    std::map<std::uint32_t, Classes> tracks;
    for (const RecordMemory& sample : record_.memory) {
      const auto [place, is_new] = tracks.try_emplace(sample.rank.value);
      for (std::size_t i = 0; i < sample.live.size(); ++i) {
        if (is_new) {
          place->second[i] = new_track();
          const std::string title = fmt::format("memory: {}", name(static_cast<BufferClass>(i)));
          ProtobufMessage track;
          track.add(descriptor::uuid, place->second[i]).add(descriptor::name, std::string_view(title));
          if (const auto parent = rank_track_.find(sample.rank.value); parent != rank_track_.end())
            track.add(descriptor::parent, parent->second);
          track.add(descriptor::counter, ProtobufMessage().add(counter::unit, unit_bytes));
          track.add(descriptor::sibling_rank, std::uint64_t{lane_count + i})
              .add(descriptor::sibling_merge, no_merge);
          describe(track);
        }
        ProtobufMessage packet, event;
        event.add(event::type, counter_event).add(event::track, place->second[i]);
        event.add(event::counter_value, static_cast<std::uint64_t>(sample.live[i].value));
        packet.add(packet::timestamp, static_cast<std::uint64_t>(nanoseconds(sample.time)))
            .add(packet::track_event, event);
        emit(packet);
      }
    }
  }

  const RunRecord& record_;
  std::ostream& out_;
  std::vector<TraceInterval> times_;
  std::vector<std::uint64_t> flow_;  // by span, 0: none
  std::map<std::uint32_t, std::uint64_t> rank_track_;
  std::uint64_t next_track_ = 1;
  Interner categories_{interned::categories}, names_{interned::event_names},
      annotations_{interned::annotation_names};
  ProtobufMessage buffer_;
};

}  // namespace

void write_perfetto_trace(const RunRecord& record, std::ostream& out) { PerfettoWriter(record, out).run(); }

}  // namespace tandem
