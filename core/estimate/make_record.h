// From the times of a played task graph to a run record: what estimate and simulate have in common behind them.
#pragma once
#include "core/cost/cost_model.h"
#include "core/estimate/playback.h"
#include "core/record/run_record.h"
#include "core/task/task_graph.h"

namespace tandem {

// Most memory samples a rank keeps: the curve's peaks survive, small ups and downs between them may not.
inline constexpr std::size_t most_memory_samples = 2000;

// Labels and details of tasks cost most of a record's making; who only wants its sums leaves them out.
enum class RecordTexts : std::uint8_t { All, None };

// A complete Playback of this graph. Lanes that a rank's program uses, tasks of the recorded programs
// (described as the first recorded rank of each meets them), a span a task, causes as far as their ranks are
// recorded, live memory, links. summary: step_time_s alone; callers add the rest. The header's fidelity, if
// empty, and note "folding" are filled in.
RunRecord make_record(const TaskGraph&, const Playback&, const Cluster&, const CostModel&, RecordHeader,
                      RecordTexts = RecordTexts::All);

// A measured run before its steps: header, device kinds, all ranks' lanes and the tasks of all programs,
// described as above; collectives with the algorithm that carries them out where the plan leaves the choice
// (`chosen`). Task t of a program is record task first_task[program] + t.
struct RecordHead {
  RunRecord record;
  std::vector<std::uint32_t> first_task;  // by program; of programs that no rank runs: 0
};
RecordHead make_record_head(const TaskGraph&, const Cluster&, Algorithm chosen, RecordHeader);

// The points of a curve to keep: of each of equal shares of time the first, the lowest, the highest and the
// last, and the highest of every class. At most `most` (>= 16), in time order.
std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& points, std::size_t most);

}  // namespace tandem
