// What playing a task graph on a modelled cluster gives: when each task of some ranks started and ended, and
// why then.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/record/held_by.h"
#include "core/task/task_graph.h"
#include "core/units/quantity.h"

namespace tandem {

// One dial from fast to faithful; every report names the level used.
enum class Fidelity : std::uint8_t {
  Estimate,  // no SimGrid: every communication takes its uncontended time
  // SimGrid, folded. Runs of tasks that nothing else can touch are joined; since that changes no time, Folded
  // joins them too.
  Fused,
  Folded,    // SimGrid, one rank of each symmetry class, real link sets
  Replicas,  // SimGrid, only tensor-parallel peers folded
  Full,      // SimGrid, every device
};
std::string_view name(Fidelity);
std::optional<Fidelity> parse_fidelity(std::string_view);

struct PlayOptions {
  Fidelity fidelity = Fidelity::Folded;
  // Relative standard deviation of each compute task's duration, drawn with `seed` from (rank, task); 0: none.
  // With jitter, ranks of a tensor-parallel group are folded at most (each draw is the largest of the group's),
  // never replicas.
  double jitter = 0;
  std::uint64_t seed = 0;
  // Ranks whose times are wanted; empty: the first rank of each pipeline stage.
  std::vector<RankId> recorded;
  bool record_times = true;  // false: step time and loads only
  // Called now and then with the share of tasks done; returning false stops the run (Playback::complete ==
  // false).
  std::function<bool(double)> progress;
};

struct TaskTimes {
  Seconds start, end;  // of the work itself: waiting for peers is not part of a communication's span
  HeldBy held_by = HeldBy::Nothing;
  std::uint32_t cause_rank =
      0;  // rank (a recorded one, or its class's representative) and task that ended last
  std::uint32_t cause_task = 0;
};

struct RankTimes {
  RankId rank;
  std::uint32_t multiplicity = 1;  // ranks that behave as this one
  std::vector<TaskTimes> tasks;    // by task index of the rank's program
};

struct LinkUse {
  LinkId link;  // a representative of its class
  std::uint32_t multiplicity = 1;
  Bytes carried;  // in the whole step
};

struct Playback {
  Seconds step_time;
  bool complete = true;
  std::vector<RankTimes> ranks;
  std::vector<LinkUse> links;
  // How it was done.
  Fidelity fidelity = Fidelity::Folded;
  std::string remark;            // why folding was limited, if it was
  std::size_t rank_classes = 0;  // ranks really played
  std::size_t tasks_played = 0, flows_played = 0, timed_played = 0;
};

}  // namespace tandem
