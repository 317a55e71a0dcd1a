// What a player tells about its run: times of recorded ranks, totals, and what is blocked.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/estimate/player.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

constexpr std::size_t kBlockedRanksNamed = 5;

}  // namespace

void Player::remember_cause(std::uint32_t r, std::uint32_t slot, const Cause& cause) {
  records_[ranks_[r].record - 1].pending[slot] = cause;
}

// The last task of the program that a compiled task stands for.
std::uint32_t Player::last_origin(std::uint32_t r, std::uint32_t t) const {
  const CompiledProgram& p = program(r);
  if (t == no_task) return 0;
  const PlayedTask& task = p.tasks[t];
  return task.piece_begin == task.piece_end ? task.origin : p.pieces[task.piece_end - 1].origin;
}

void Player::record(std::uint32_t r, std::uint32_t slot, std::uint32_t t, double start, double end) {
  Record& record = records_[ranks_[r].record - 1];
  const CompiledProgram& p = program(r);
  const PlayedTask& task = p.tasks[t];
  const Cause cause = record.pending[slot];
  const bool run = task.piece_begin != task.piece_end;
  if (run) advance_run(r, task, std::numeric_limits<double>::infinity(), ranks_[r].communications > 0);
  TaskTimes& first = record.times[task.origin];
  first.start = Seconds(start);
  first.held_by = cause.held_by;
  first.cause_rank = cause.rank;
  first.cause_task = last_origin(cause.rank, cause.task);
  record.times[last_origin(r, t)].end = Seconds(end);
}

// A piece of a run ended and the next one started.
void Player::record_piece(std::uint32_t r, std::uint32_t piece, double end, double next_start) {
  Record& record = records_[ranks_[r].record - 1];
  const CompiledProgram& p = program(r);
  const std::uint32_t origin = p.pieces[piece].origin, next = p.pieces[piece + 1].origin;
  const std::vector<Task>& tasks = tasks_.programs[p.program].tasks;
  record.times[origin].end = Seconds(end);
  TaskTimes& times = record.times[next];
  times.start = Seconds(next_start);
  times.held_by = next_start > end                         ? HeldBy::Host
                  : tasks[origin].lane == tasks[next].lane ? HeldBy::Lane
                                                           : HeldBy::Dependency;
  times.cause_rank = r;
  times.cause_task = origin;
}

void Player::check_finished() const {
  if (tasks_done_ == tasks_total_ || stopped_) return;
  std::string blocked;
  std::size_t named = 0;
  for (std::uint32_t r = 0; r < ranks_.size() && named < kBlockedRanksNamed; ++r) {
    const CompiledProgram& p = program(r);
    std::string heads;
    for (std::size_t slot = 0; slot < p.lanes.size(); ++slot) {
      const std::uint32_t head = lanes_[ranks_[r].lane_begin + slot].head;
      if (head == no_task) continue;
      const Task& task = tasks_.programs[p.program].tasks[p.tasks[head].origin];
      heads += (heads.empty() ? "" : ", ") + task_key(tasks_, graph_.ranks[r].representative, task);
    }
    if (heads.empty()) continue;
    blocked += (named++ > 0 ? "; " : "") + heads;
  }
  throw std::logic_error(fmt::format("the task graph is blocked with {} of {} tasks done: {}", tasks_done_,
                                     tasks_total_, blocked));
}

Playback Player::result() {
  Playback playback;
  playback.step_time = Seconds(end_);
  playback.complete = tasks_done_ == tasks_total_;
  playback.rank_classes = ranks_.size();
  playback.tasks_played = tasks_done_;
  playback.flows_played = flows_;
  playback.timed_played = timed_;
  // A class speaks as the rank that was asked for, or as its representative.
  std::vector<std::uint32_t> speaker(ranks_.size());
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) speaker[r] = graph_.ranks[r].representative.value;
  for (auto wanted = wanted_.rbegin(); wanted != wanted_.rend(); ++wanted)
    speaker[records_[wanted->second].rank] = wanted->first.value;
  for (Record& record : records_) {
    for (TaskTimes& times : record.times) times.cause_rank = speaker[times.cause_rank];
  }
  std::vector<std::uint32_t> uses(records_.size(), 0);
  for (const auto& [rank, record] : wanted_) ++uses[record];
  for (const auto& [rank, record] : wanted_) {
    Record& source = records_[record];
    RankTimes& times = playback.ranks.emplace_back(RankTimes{.rank = rank, .tasks = {}});
    times.multiplicity = graph_.ranks[source.rank].size;
    times.tasks = --uses[record] == 0 ? std::move(source.times) : source.times;
  }
  return playback;
}

}  // namespace tandem
