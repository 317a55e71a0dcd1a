// Kineto-shaped events, streamed.
#include "core/record/chrome_trace.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/record/activity.h"
#include "core/record/messages.h"
#include "core/record/trace_time.h"

namespace tandem {
namespace {

using nlohmann::json;
constexpr std::uint32_t step_row = lane_count;  // tid of ProfilerStep#N

std::string json_text(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string microseconds_text(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// Names as torch.distributed's profiler writes them.
std::string_view torch_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "allreduce";
    case CollectiveKind::AllGather:
      return "_allgather_base";
    case CollectiveKind::ReduceScatter:
      return "_reduce_scatter_base";
    case CollectiveKind::AllToAll:
      return "all_to_all";
    case CollectiveKind::Broadcast:
      return "broadcast";
    case CollectiveKind::Reduce:
      return "reduce";
    case CollectiveKind::Shift:
      return "coalesced";  // a send and a receive in one group call
  }
  return "?";
}

std::string kernel_name(const RecordTask& task) {
  if (task.kind == TaskKind::Send || task.kind == TaskKind::Receive) return "ncclDevKernel_SendRecv";
  std::string result = "ncclDevKernel_";
  switch (task.collective) {
    case CollectiveKind::AllReduce:
      result += "AllReduce_Sum";
      break;
    case CollectiveKind::AllGather:
      result += "AllGather";
      break;
    case CollectiveKind::ReduceScatter:
      result += "ReduceScatter_Sum";
      break;
    // NCCL makes these of sends and receives.
    case CollectiveKind::AllToAll:
    case CollectiveKind::Shift:
      return result + "SendRecv";
    case CollectiveKind::Broadcast:
      result += "Broadcast";
      break;
    case CollectiveKind::Reduce:
      result += "Reduce_Sum";
      break;
  }
  switch (task.algorithm) {
    case Algorithm::Ring:
      return result + "_RING";
    case Algorithm::Tree:
      return result + "_TREE";
    case Algorithm::Nvls:
      return result + "_NVLS";
    case Algorithm::Auto:
    case Algorithm::HalvingDoubling:
    case Algorithm::Hierarchical:
    case Algorithm::Pairwise:
      break;
  }
  return result;
}

class ChromeWriter {
 public:
  ChromeWriter(const RunRecord& record, std::ostream& out)
      : record_(record), out_(out), times_(trace_intervals(record)) {
    for (const MessagePair& pair : pairs_ = message_pairs(record)) {
      peer_[pair.send] = rank(pair.receive);
      peer_[pair.receive] = rank(pair.send);
    }
  }

  void run() {
    head();
    names();
    steps();
    for (std::uint32_t i = 0; i < record_.spans.size(); ++i) span(i);
    counters();
    flows();
    text("\n]}\n");
    flush();
  }

 private:
  std::uint32_t rank(std::uint32_t span) const { return record_.lanes[record_.spans[span].lane].rank.value; }

  void text(std::string_view part) { buffer_.append(part); }
  template <class... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text(first_ ? "\n" : ",\n");
    first_ = false;
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
    if (buffer_.size() > 1 << 16) flush();
  }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  void head() {
    std::uint64_t world = 0;
    std::set<std::uint32_t> ranks, kinds;
    json devices = json::array();
    for (const RecordLane& lane : record_.lanes) {
      if (!ranks.insert(lane.rank.value).second) continue;
      world += lane.multiplicity;
      json device = {{"id", lane.rank.value}};
      if (lane.device_kind < record_.device_kinds.size()) {
        const RecordDeviceKind& kind = record_.device_kinds[lane.device_kind];
        device["name"] = kind.name;
        device["totalGlobalMem"] = static_cast<std::uint64_t>(kind.memory.value);
        if (kind.compute_units > 0) device["numSms"] = kind.compute_units;
      }
      devices.push_back(device);
    }
    json distributed = {{"backend", record_.header.backend}, {"world_size", world}};
    distributed["rank"] = ranks.empty() ? 0 : *ranks.begin();
    const RecordHeader& header = record_.header;
    const json tandem = {{"backend", header.backend},
                         {"fidelity", header.fidelity},
                         {"program_version", header.program_version},
                         {"model", header.model},
                         {"cluster", header.cluster},
                         {"plan", header.plan},
                         {"scenario_digest", header.scenario_digest}};
    const auto dump = [](const json& value) {
      return value.dump(-1, ' ', false, json::error_handler_t::replace);
    };
    text(fmt::format(
        "{{\"schemaVersion\":1,\"deviceProperties\":{},\"distributedInfo\":{},\"displayTimeUnit\":\"ms\","
        "\"baseTimeNanoseconds\":0,\"tandem\":{},\"traceEvents\":[",
        dump(devices), dump(distributed), dump(tandem)));
  }

  void metadata(std::string_view what, std::uint32_t pid, std::string_view tid, const std::string& args) {
    event(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"ts":0,"args":{{{}}}}})", what, pid, tid, args);
  }

  void names() {
    std::set<std::uint32_t> ranks;
    for (const RecordLane& lane : record_.lanes) {
      const std::uint32_t pid = lane.rank.value, tid = static_cast<std::uint32_t>(lane.lane);
      if (ranks.insert(pid).second) {
        const std::string alike =
            lane.multiplicity > 1 ? fmt::format(", like {} ranks", lane.multiplicity) : "";
        metadata("process_name", pid, "0",
                 fmt::format("\"name\":\"stage {} rank {} (device {}, node {}{})\"", lane.stage, pid,
                             lane.device, lane.node, alike));
        metadata("process_sort_index", pid, "0",
                 fmt::format("\"sort_index\":{}", std::uint64_t{lane.stage} * 0x1000000 + pid));
        metadata("thread_name", pid, std::to_string(step_row), "\"name\":\"step\"");
        metadata("thread_sort_index", pid, std::to_string(step_row), "\"sort_index\":-1");
      }
      metadata("thread_name", pid, std::to_string(tid), fmt::format("\"name\":{}", json_text(name(lane.lane))));
      metadata("thread_sort_index", pid, std::to_string(tid), fmt::format("\"sort_index\":{}", tid));
    }
  }

  // ProfilerStep#N of a rank: from its first span's start, or the end of its step before, to its last span's
  // end.
  void steps() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, TraceInterval> steps;  // rank, step
    for (std::uint32_t i = 0; i < record_.spans.size(); ++i) {
      const auto [place, is_new] = steps.try_emplace({rank(i), record_.spans[i].step}, times_[i]);
      place->second.start = std::min(place->second.start, times_[i].start);
      place->second.end = std::max(place->second.end, times_[i].end);
    }
    std::uint32_t before_rank = no_span;
    std::int64_t before = 0;
    for (const auto& [key, step] : steps) {
      const std::int64_t start = key.first == before_rank ? std::max(step.start, before) : step.start;
      const std::int64_t end = std::max(step.end, start);
      before_rank = key.first;
      before = end;
      event(
          R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{}}}})",
          key.second, key.first, step_row, microseconds_text(start), microseconds_text(end - start));
    }
  }

  void span(std::uint32_t index) {
    const RecordSpan& span = record_.spans[index];
    const RecordTask& task = record_.tasks[span.task];
    const RecordLane& lane = record_.lanes[span.lane];
    const bool communicates =
        task.kind == TaskKind::Collective || task.kind == TaskKind::Send || task.kind == TaskKind::Receive;
    std::string_view category = "kernel";
    std::string title = communicates ? kernel_name(task) : fmt::format("{}/{}", task.label, name(task.phase));
    if (task.kind == TaskKind::Input) category = "cpu_op";
    if (task.kind == TaskKind::Copy) {
      category = "gpu_memcpy";
      title = "Memcpy " + title;
    }
    const std::string microbatch =
        task.microbatch == no_microbatch ? "" : fmt::format(",\"microbatch\":{}", task.microbatch);
    event(
        R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"External id":{},"device":{},"stream":{},)"
        R"("correlation":{},"label":{},"phase":"{}"{},"chunk":{},"detail":{},"held by":"{}",{}}}}})",
        category, json_text(title), lane.rank.value, static_cast<std::uint32_t>(lane.lane),
        microseconds_text(times_[index].start), microseconds_text(times_[index].end - times_[index].start),
        index + 1, lane.rank.value, static_cast<std::uint32_t>(lane.lane), index + 1, json_text(task.label),
        name(task.phase), microbatch, task.chunk, json_text(task.detail),
        name(static_cast<HeldBy>(span.held_by)), communicates ? communication(index) : amounts(task));
  }

  static std::string amounts(const RecordTask& task) {
    return fmt::format("\"flops\":{},\"bytes\":{}", task.flops.value, task.bytes.value);
  }

  // Sizes by torch's convention: what goes in and what comes out of one rank.
  std::string communication(std::uint32_t index) const {
    const RecordSpan& span = record_.spans[index];
    const RecordTask& task = record_.tasks[span.task];
    const auto axis = traffic_axis(record_.lanes[span.lane].lane);
    double in = task.bytes.value, out = in;
    std::string_view collective = task.kind == TaskKind::Send      ? "send"
                                  : task.kind == TaskKind::Receive ? "recv"
                                                                   : torch_name(task.collective);
    std::uint32_t group = task.group_size;
    std::string peer;
    if (task.kind == TaskKind::Collective) {
      if (task.collective == CollectiveKind::AllGather) in /= group;
      if (task.collective == CollectiveKind::ReduceScatter) out /= group;
    } else {
      group = 2;
      if (const auto other = peer_.find(index); other != peer_.end())
        peer = fmt::format(",\"Src Rank\":{},\"Dst Rank\":{}",
                           task.kind == TaskKind::Send ? rank(index) : other->second,
                           task.kind == TaskKind::Send ? other->second : rank(index));
    }
    return fmt::format(
        R"("Collective name":"{}","In msg nelems":{:.0f},"Out msg nelems":{:.0f},"Group size":{},"dtype":"Byte","Process Group Name":"{}"{})",
        collective, in, out, group, axis ? name(*axis) : "", peer);
  }

  void counters() {
    for (const RecordMemory& sample : record_.memory) {
      std::string classes;
      for (std::size_t i = 0; i < sample.live.size(); ++i)
        classes += fmt::format("{}\"{}\":{:.0f}", i == 0 ? "" : ",", name(static_cast<BufferClass>(i)),
                               sample.live[i].value);
      event(R"({{"ph":"C","name":"memory","pid":{},"tid":0,"ts":{},"args":{{{}}}}})", sample.rank.value,
            microseconds_text(nanoseconds(sample.time)), classes);
    }
  }

  // Both ends lie inside their slices, and time does not run backwards along an arrow.
  void flows() {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const TraceInterval send = times_[pairs_[i].send], receive = times_[pairs_[i].receive];
      const std::int64_t start = send.start, end = std::clamp(start, receive.start, receive.end);
      if (end < start) continue;  // measured clocks that disagree
      flow(pairs_[i].send, "s", "", i, start);
      flow(pairs_[i].receive, "f", "\"bp\":\"e\",", i, end);
    }
  }
  void flow(std::uint32_t span, std::string_view phase, std::string_view binding, std::size_t id,
            std::int64_t time) {
    const RecordLane& lane = record_.lanes[record_.spans[span].lane];
    event(R"({{"ph":"{}","id":{},{}"cat":"send_receive","name":"send_receive","pid":{},"tid":{},"ts":{}}})",
          phase, id, binding, lane.rank.value, static_cast<std::uint32_t>(lane.lane), microseconds_text(time));
  }

  const RunRecord& record_;
  std::ostream& out_;
  std::vector<TraceInterval> times_;
  std::vector<MessagePair> pairs_;
  std::map<std::uint32_t, std::uint32_t> peer_;  // span -> rank at the other end
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

}  // namespace

void write_chrome_trace(const RunRecord& record, std::ostream& out) { ChromeWriter(record, out).run(); }

}  // namespace tandem
