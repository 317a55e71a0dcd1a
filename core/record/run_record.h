// One run of one or several training steps, predicted or measured: lanes, tasks, spans, memory, links, losses.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record/held_by.h"
#include "core/task/task_graph.h"
#include "core/units/quantity.h"

namespace tandem {

constexpr int record_format_version = 1;

// A record can be read while its run goes on; one whose state stays Running was left by a run that was killed.
enum class RunState : std::uint8_t { Finished, Running, Failed };

struct RecordHeader {
  std::string backend;   // "estimate", "simgrid", "cpu", "cuda"
  std::string fidelity;  // predictions: "folded", …
  std::string program_version;
  std::uint64_t seed = 0;
  std::string scenario;                      // the whole scenario as resolved TOML
  std::string scenario_digest;               // hex digest of it
  std::string model, cluster, plan;          // one line each, for people
  std::map<std::string, std::string> notes;  // remarks, by topic
  RunState state = RunState::Finished;
  std::string failure{};  // of a run that failed: why
  bool operator==(const RecordHeader&) const = default;
};

// "finished", "running", "failed: rank 3 was killed".
std::string state_text(RunState, const std::string& failure);

// What the limit line of a memory view and a roofline need; an unknown value is 0 or absent.
struct RecordDeviceKind {
  std::string name;
  Bytes memory;
  Bandwidth memory_bandwidth;
  std::map<std::string, ComputeRate> peak;  // dense, by dtype name
  int compute_units = 0;
  bool operator==(const RecordDeviceKind&) const = default;
};

struct RecordLane {
  RankId rank{};
  Lane lane = Lane::Compute;
  std::uint32_t stage = 0, device = 0, node = 0;
  std::uint32_t multiplicity = 1;  // ranks that behave as this one
  std::uint32_t device_kind = 0;   // index into device_kinds, when there are any
  bool operator==(const RecordLane&) const = default;
};

enum class TaskKind : std::uint8_t { Compute, Collective, Send, Receive, Copy, Input };
constexpr std::size_t task_kind_count = 6;
std::string_view name(TaskKind);

// How many values these enums have (their headers do not say); files with higher numbers are damaged.
constexpr std::size_t phase_count = static_cast<std::size_t>(Phase::Update) + 1;
constexpr std::size_t collective_kind_count = static_cast<std::size_t>(CollectiveKind::Shift) + 1;
constexpr std::size_t algorithm_count = static_cast<std::size_t>(Algorithm::Pairwise) + 1;

constexpr std::uint32_t no_origin = std::numeric_limits<std::uint32_t>::max();

// A task of the recorded programs; its key is label/phase mb (the rank comes from the lane).
struct RecordTask {
  std::string label{};
  Phase phase = Phase::Forward;
  TaskKind kind = TaskKind::Compute;
  std::uint32_t microbatch = no_microbatch;
  std::uint32_t message = no_message;
  std::uint16_t chunk = 0;
  std::string detail{};  // "matmul 4096x4096x1024 bf16", "all_reduce ring 64 MiB over 8 (tp)"
  Flops flops{};
  Bytes bytes{};                 // memory traffic of computations, size of communications
  std::uint32_t group_size = 1;  // collectives
  CollectiveKind collective = CollectiveKind::AllReduce;  // collectives
  Algorithm algorithm = Algorithm::Auto;                  // collectives; Auto: not known
  std::uint32_t origin = no_origin;                       // into RunRecord::origins
  bool operator==(const RecordTask&) const = default;
};

constexpr std::uint32_t no_span = std::numeric_limits<std::uint32_t>::max();

struct RecordSpan {
  std::uint32_t lane = 0, task = 0;  // indices into lanes and tasks
  std::uint32_t step = 0;
  Seconds start{}, end{};
  std::uint8_t held_by = 0;       // HeldBy
  std::uint32_t cause = no_span;  // the span that ended last before this one could start
  bool operator==(const RecordSpan&) const = default;
};

struct RecordMemory {
  RankId rank{};
  Seconds time{};
  std::array<Bytes, static_cast<std::size_t>(BufferClass::Count)> live;
  bool operator==(const RecordMemory&) const = default;
};

struct RecordLink {
  std::string name;
  std::uint32_t multiplicity = 1;
  Bytes carried;
  Bandwidth capacity;
  bool operator==(const RecordLink&) const = default;
};

struct RunRecord {
  RecordHeader header;
  std::vector<RecordDeviceKind> device_kinds;
  std::vector<RecordLane> lanes;
  std::vector<RecordTask> tasks;
  std::vector<std::string> origins;  // predictions: how durations came about (formula, constants, their source)
  std::vector<RecordSpan> spans;     // of a lane: in time order, not overlapping
  std::vector<RecordMemory> memory;
  std::vector<RecordLink> links;
  std::vector<std::pair<std::uint32_t, double>> losses;  // step, loss
  std::uint32_t warmup_steps = 0;
  std::map<std::string, double> summary;  // stable keys of --json: step_time_s, mfu, …
};

// Spans of a lane that overlap by no more than this are neighbours: the resolution of device clocks and of
// exports.
constexpr Seconds clock_resolution{1e-9};

// What is wrong with a record, as one sentence, or "": header complete, indices inside, times finite and
// ordered, spans of a lane apart, causes neither later than their span nor in a circle, one lane a kind and
// rank.
std::string record_fault(const RunRecord&);
void check_record(const RunRecord&);  // throws std::logic_error with the fault

// A `*.tandem` file (SQLite). Written beside and renamed, so that nothing half-written is ever seen under its
// name; a full disk or an unwritable folder is a BackendError and leaves nothing behind. Reading a truncated,
// foreign or newer file is an InputError that says which.
void write_record(const RunRecord&, const std::string& path);
RunRecord read_record(const std::string& path);

}  // namespace tandem
