// Follows the computation lane and gathers what happens strictly one after the other.
#include "core/estimate/join_runs.h"

#include <algorithm>
#include <span>

namespace tandem {
namespace {

class Joiner {
 public:
  Joiner(const CompiledProgram& program, double slowdown, const PrivateCollectives& collectives)
      : program_(program),
        slowdown_(slowdown),
        collectives_(collectives),
        before_(program.tasks.size(), no_task),
        waiters_begin_(program.tasks.size() + 1, 0),
        run_of_(program.tasks.size(), no_task),
        known_(program.lanes.size(), 0) {
    for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
      if (program.tasks[t].next != no_task) before_[program.tasks[t].next] = t;
    }
    collect_waiters();
    std::uint32_t receives = 0;
    for (const PlayedTask& task : program.tasks) {
      receives_before_.push_back(receives);
      if (task.kind == PlayKind::Receive) ++receives;
    }
  }

  CompiledProgram join() {
    for (std::uint32_t t = first_compute(); t != no_task;) {
      std::vector<std::uint32_t> run = gather(t);
      while (run.size() > 1 && !closed(run)) run.pop_back();
      const std::uint32_t last = last_compute(run);
      for (std::uint32_t u = t;; u = program_.tasks[u].next) {
        learn(u);
        if (u == last) break;
      }
      t = program_.tasks[last].next;
      if (run.size() < 2) continue;
      for (std::uint32_t member : run) run_of_[member] = run.front();
      runs_.push_back(std::move(run));
    }
    return rebuild();
  }

 private:
  std::uint32_t first_compute() const {
    return program_.compute_slot < program_.lanes.size() ? program_.first[program_.compute_slot] : no_task;
  }
  std::span<const std::uint32_t> waits(std::uint32_t t) const {
    return {program_.after.data() + program_.tasks[t].after_begin,
            program_.after.data() + program_.tasks[t].after_end};
  }
  std::span<const std::uint32_t> waiters(std::uint32_t t) const {
    return {waiters_.data() + waiters_begin_[t], waiters_.data() + waiters_begin_[t + 1]};
  }
  bool on_compute_lane(std::uint32_t t) const { return program_.tasks[t].slot == program_.compute_slot; }
  bool waits_for(std::uint32_t t, std::uint32_t other) const {
    return before_[t] == other || std::ranges::find(waits(t), other) != waits(t).end();
  }

  void collect_waiters() {
    for (std::uint32_t w : program_.after) ++waiters_begin_[w + 1];
    for (std::size_t t = 1; t < waiters_begin_.size(); ++t) waiters_begin_[t] += waiters_begin_[t - 1];
    waiters_.resize(program_.after.size());
    std::vector<std::uint32_t> at(waiters_begin_.begin(), waiters_begin_.end() - 1);
    for (std::uint32_t t = 0; t < program_.tasks.size(); ++t) {
      for (std::uint32_t w : waits(t)) waiters_[at[w]++] = t;
    }
  }

  bool joinable(std::uint32_t t) const {
    const PlayedTask& task = program_.tasks[t];
    if (task.kind == PlayKind::Compute) return on_compute_lane(t);
    return task.kind == PlayKind::Collective && !collectives_[task.channel].empty();
  }
  double duration(std::uint32_t t) const {
    const PlayedTask& task = program_.tasks[t];
    return task.kind == PlayKind::Collective ? collectives_[task.channel][task.entry]
                                             : task.duration * slowdown_;
  }

  // Tasks that are surely done once a computation starts: all up to known_[slot] - 1 of each lane.
  void learn(std::uint32_t compute) {
    for (std::uint32_t w : waits(compute))
      known_[program_.tasks[w].slot] = std::max(known_[program_.tasks[w].slot], w + 1);
    known_[program_.compute_slot] = compute + 1;
  }
  bool done(std::uint32_t t, std::uint32_t first) const {
    if (t == no_task || t < known_[program_.tasks[t].slot]) return true;
    const auto before_first = waits(first);
    return std::ranges::any_of(before_first, [&](std::uint32_t w) {
      return program_.tasks[w].slot == program_.tasks[t].slot && w >= t;
    });
  }

  // The longest run from `first` on; what follows it may still reach into it.
  std::vector<std::uint32_t> gather(std::uint32_t first) const {
    std::vector<std::uint32_t> run = {first};
    if (program_.tasks[first].kind != PlayKind::Compute) return run;
    for (;;) {
      const std::uint32_t last = run.back();
      const std::uint32_t next = successor(last, last_compute(run));
      if (next == no_task || !joinable(next)) return run;
      const auto settled = [&](std::uint32_t w) {
        return std::ranges::find(run.rbegin(), run.rend(), w) != run.rend() || done(w, first);
      };
      if (program_.host_waits && receives_before_[next] != receives_before_[first]) return run;
      if (!settled(before_[next]) || !std::ranges::all_of(waits(next), settled)) return run;
      run.push_back(next);
    }
  }

  // The one task that can come next: a waiter on another lane, or the next computation if that waits for
  // `last`.
  std::uint32_t successor(std::uint32_t last, std::uint32_t last_compute) const {
    const std::uint32_t next_compute = program_.tasks[last_compute].next;
    std::uint32_t found = no_task;
    for (std::uint32_t w : waiters(last)) {
      if (on_compute_lane(w)) continue;  // comes after next_compute
      if (found != no_task) return no_task;
      found = w;
    }
    if (found != no_task) return found;
    return next_compute != no_task && waits_for(next_compute, last) ? next_compute : no_task;
  }

  std::uint32_t last_compute(const std::vector<std::uint32_t>& run) const {
    return *std::find_if(run.rbegin(), run.rend(), [&](std::uint32_t t) { return on_compute_lane(t); });
  }

  // Nothing outside can start before the run's end: the next computation waits for it, and so do, directly or
  // through that lane, the next tasks of the other lanes in the run.
  bool closed(const std::vector<std::uint32_t>& run) const {
    const std::uint32_t last = run.back(), compute = last_compute(run);
    const std::uint32_t next = program_.tasks[compute].next;
    if (last != compute && next != no_task && !waits_for(next, last)) return false;
    for (std::uint32_t t : run) {
      const std::uint32_t follower = program_.tasks[t].next;
      if (on_compute_lane(t) || t == last || follower == no_task) continue;
      if (std::ranges::find(run, follower) != run.end()) continue;
      const bool behind = std::ranges::any_of(
          waits(follower), [&](std::uint32_t w) { return w == last || (on_compute_lane(w) && w > compute); });
      if (!behind) return false;
    }
    return true;
  }

  CompiledProgram rebuild() const {
    CompiledProgram result;
    result.program = program_.program;
    result.device_key = program_.device_key;
    result.overlap_slowdown = program_.overlap_slowdown;
    result.host_waits = program_.host_waits;
    result.lanes = program_.lanes;
    result.axis_slots = program_.axis_slots;
    result.compute_slot = program_.compute_slot;
    result.origin_count = program_.origin_count;
    std::vector<std::uint32_t> renamed(program_.tasks.size(), no_task);
    result.tasks.reserve(program_.tasks.size());
    result.pieces.reserve(program_.tasks.size());
    auto run = runs_.begin();
    for (std::uint32_t t = 0; t < program_.tasks.size(); ++t) {
      if (run_of_[t] != no_task && run_of_[t] != t) {
        renamed[t] = renamed[run_of_[t]];
        continue;
      }
      renamed[t] = static_cast<std::uint32_t>(result.tasks.size());
      PlayedTask task = program_.tasks[t];
      if (task.kind == PlayKind::Compute) task.duration *= slowdown_;
      if (run_of_[t] == t) add_pieces(*run++, task, result);
      task.after_begin = static_cast<std::uint32_t>(result.after.size());
      const auto wait_for = [&](std::uint32_t w) {
        if (result.tasks[renamed[w]].slot != task.slot) result.after.push_back(renamed[w]);
      };
      for (std::uint32_t w : waits(t)) wait_for(w);
      // The task before it on its lane moved into a run: the lane no longer says so.
      if (before_[t] != no_task && run_of_[before_[t]] != no_task) wait_for(before_[t]);
      task.after_end = static_cast<std::uint32_t>(result.after.size());
      result.tasks.push_back(task);
    }
    link_lanes(result);
    return result;
  }

  void add_pieces(const std::vector<std::uint32_t>& run, PlayedTask& task, CompiledProgram& result) const {
    task.piece_begin = static_cast<std::uint32_t>(result.pieces.size());
    task.duration = 0;
    for (std::uint32_t t : run) {
      task.duration += duration(t);
      CompiledProgram::Piece& piece = result.pieces.emplace_back();
      piece.origin = program_.tasks[t].origin;
      piece.compute = on_compute_lane(t);
      piece.duration = duration(t);
      piece.release = program_.tasks[t].release;
    }
    task.piece_end = static_cast<std::uint32_t>(result.pieces.size());
    for (std::uint32_t p = task.piece_end - 1; p > task.piece_begin; --p) {
      const CompiledProgram::Piece& behind = result.pieces[p];
      for (const int slow : {0, 1}) {
        const double factor = slow == 1 && behind.compute ? program_.overlap_slowdown : 1;
        const double rest = behind.duration * factor + behind.rest[slow];
        result.pieces[p - 1].rest[slow] = rest;
        result.pieces[p - 1].floor[slow] = std::max(behind.floor[slow], behind.release + rest);
      }
    }
  }

  const CompiledProgram& program_;
  const double slowdown_;
  const PrivateCollectives& collectives_;
  std::vector<std::uint32_t> before_;                   // on its lane
  std::vector<std::uint32_t> waiters_, waiters_begin_;  // on other lanes
  std::vector<std::uint32_t> run_of_;                   // first task of the run, or no_task
  std::vector<std::uint32_t> receives_before_;          // in the program's order: a waiting host stops at each
  std::vector<std::uint32_t> known_;                    // by slot
  std::vector<std::vector<std::uint32_t>> runs_;        // in the order of their first tasks
};

}  // namespace

CompiledProgram join_runs(const CompiledProgram& program, double slowdown,
                          const PrivateCollectives& collectives) {
  return Joiner(program, slowdown, collectives).join();
}

}  // namespace tandem
