// Two runs side by side: a prediction and its measurement, two plans, or one run twice.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/compare/sampled.h"
#include "core/record/activity.h"
#include "core/record/run_record.h"

namespace tandem {

enum class RunPair : std::uint8_t {
  PredictionAndMeasurement,  // A predicted what B measured
  Predictions,               // two plans, models, clusters or fidelities
  Measurements,              // how far two runs lie apart: the noise floor, or two plans for real
  MeasurementAndPrediction   // the wrong way round: deviations are of the measurement from the prediction
};

// Backends that do not run anything.
bool is_prediction(const RecordHeader&);

struct RunSide {
  RecordHeader header;
  std::uint32_t steps = 0;                // measured
  std::uint32_t warmup_steps = 0;         // left out
  std::uint32_t recorded = 0, ranks = 0;  // ranks with spans, and those that they stand for
  std::size_t spans = 0, warmup_spans = 0;
};

// A key of the resolved scenario that the records do not share; "" where one has no such key.
struct Setting {
  std::string key;  // "plan.tensor_model_parallel_size"
  std::string a, b;
  bool operator==(const Setting&) const = default;
};

struct Sameness {
  bool scenario = false;  // equal digests
  bool model = false, cluster = false, plan = false;
  std::vector<Setting> settings;  // those that differ, by key
};

// What a task is beside its place: tasks of all layers, microbatches, chunks and ranks together.
struct TaskKindKey {
  std::string name;  // "mlp.up", "mlp.down.all_reduce", "gradients.reduce_scatter"
  Phase phase = Phase::Forward;
  Lane lane = Lane::Compute;
  auto operator<=>(const TaskKindKey&) const = default;
};

// Readable identity of a task that survives re-lowering, and the lane it ran on. Equal keys of one lane and
// step are told apart by their order.
struct TaskKey {
  std::uint32_t label = 0;  // into Comparison::labels
  Phase phase = Phase::Forward;
  Lane lane = Lane::Compute;
  std::uint16_t chunk = 0;
  RankId rank{};
  std::uint32_t microbatch = no_microbatch;
  std::uint32_t occurrence = 0;
  bool operator==(const TaskKey&) const = default;
};

// One task on one rank in both records. Where a record keeps one rank for many, that rank's task is compared
// with each of theirs: `rank_a` and `key.rank` (of B) then differ.
struct TaskPair {
  TaskKey key;
  RankId rank_a{};
  Compared<Seconds> time;
};

// Tasks of a kind that only one record has.
struct MissingKind {
  TaskKindKey kind;
  std::size_t tasks = 0;
  std::uint32_t ranks = 0;  // on which
};

// Seconds of a step, on average over ranks.
struct KindTime {
  TaskKindKey kind;
  double tasks_a = 0, tasks_b = 0;  // a step and rank
  Compared<Seconds> time;
};

struct LaneTime {
  Lane lane = Lane::Compute;
  Compared<Seconds> busy;  // a step, on average over ranks
};

struct StageTime {
  std::uint32_t stage = 0;
  Compared<Seconds> compute;  // the compute lane is busy; on average over the stage's ranks
  Compared<Bytes> peak;       // of the rank that holds most
};

struct AxisTime {
  TrafficAxis axis = TrafficAxis::Tensor;
  Compared<Seconds> total, exposed, hidden;
};

struct MemoryPeak {
  Compared<Bytes> total;     // of the rank that holds most, at its peak
  Compared<Bytes> resident;  // of the largest process of ranks on cores, with all that it holds
  std::array<Compared<Bytes>, static_cast<std::size_t>(BufferClass::Count)> classes{};  // at that moment
};

// Of the steps, warm-up and all, for which both records have a loss.
struct LossComparison {
  std::size_t steps = 0;
  bool equal = true;             // bit for bit
  double largest = 0;            // difference; infinite where one loss alone is not a number
  std::uint32_t first_step = 0;  // that differs
};

// A part of the difference between the steps. All changes together are the difference of the steps, but for
// what medians of parts do not add up to.
struct Explanation {
  Activity activity = Activity::Idle;
  TaskKindKey kind;  // computations; else of the activity's communications the one that changed most
  double tasks_a = 0, tasks_b = 0;  // computations: a step and rank
  Compared<Seconds> time;           // a step, on average over ranks
  Seconds kind_change{};            // of communications: by how much the kind's time on the wires changed
};

// Invariant: spans of A = pairs' spans + missing ones + those of warm-up, and so for B (check_comparison).
struct Comparison {
  RunPair pair = RunPair::Predictions;
  RunSide a, b;
  Sameness same;
  Compared<Seconds> step;
  std::vector<Compared<Seconds>> parts;  // by Activity
  Compared<double> bubble;               // share of the step
  Compared<double> overlap;              // hidden share of the communication
  std::vector<AxisTime> axes;            // those with traffic in A or B
  std::vector<LaneTime> lanes;
  std::vector<StageTime> stages;
  std::vector<KindTime> kinds;  // largest change first
  MemoryPeak memory;
  LossComparison losses;
  std::vector<Explanation> explanations;  // largest change first

  std::vector<std::string> labels;
  std::vector<TaskPair> tasks;
  std::size_t spans_matched_a = 0, spans_matched_b = 0;
  std::size_t spans_only_a = 0, spans_only_b = 0;
  std::vector<MissingKind> only_a, only_b;  // most tasks first
  const Compared<Seconds>& part(Activity activity) const { return parts[static_cast<std::size_t>(activity)]; }
};

}  // namespace tandem
