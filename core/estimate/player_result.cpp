// What a player tells about its run: times of recorded ranks, totals, and what is blocked.
#include <fmt/format.h>

#include <algorithm>

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
  if (p.pieces_begin.empty() || p.pieces_begin[t] == p.pieces_begin[t + 1]) return p.tasks[t].origin;
  return p.pieces[p.pieces_begin[t + 1] - 1].origin;
}

void Player::record(std::uint32_t r, std::uint32_t slot, std::uint32_t t, double start, double end) {
  Record& record = records_[ranks_[r].record - 1];
  const CompiledProgram& p = program(r);
  const Cause& cause = record.pending[slot];
  const TaskTimes times{.start = Seconds(start),
                        .end = Seconds(end),
                        .held_by = cause.held_by,
                        .cause_rank = cause.rank,
                        .cause_task = last_origin(cause.rank, cause.task)};
  if (p.pieces_begin.empty() || p.pieces_begin[t] == p.pieces_begin[t + 1]) {
    record.times[p.tasks[t].origin] = times;
    return;
  }
  // A joined run: its tasks one after the other, the computations stretched evenly if overlap made the run
  // longer.
  const auto begin = p.pieces.begin() + p.pieces_begin[t], stop = p.pieces.begin() + p.pieces_begin[t + 1];
  const double slowed = std::max(0.0, end - std::max(start + p.tasks[t].duration, p.tasks[t].floor));
  const double compute = p.tasks[t].duration * p.tasks[t].compute_share;
  const double stretch = compute > 0 ? 1 + slowed / compute : 1;
  double at = start;
  for (auto piece = begin; piece != stop; ++piece) {
    TaskTimes& inner = record.times[piece->origin];
    const bool host = piece != begin && piece->release > at;
    if (host) at = piece->release;
    inner = times;
    inner.start = Seconds(at);
    at += piece->duration * (piece->compute ? stretch : 1);
    inner.end = Seconds(piece + 1 == stop ? end : at);
    if (piece == begin) continue;
    const auto before = piece - 1;
    const bool same_lane = tasks_.programs[p.program].tasks[before->origin].lane ==
                           tasks_.programs[p.program].tasks[piece->origin].lane;
    inner.held_by = host ? HeldBy::Host : same_lane ? HeldBy::Lane : HeldBy::Dependency;
    inner.cause_rank = r;
    inner.cause_task = before->origin;
  }
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
  for (const auto& [rank, record] : wanted_) {
    playback.ranks.push_back({rank, graph_.ranks[records_[record].rank].size, records_[record].times});
  }
  return playback;
}

}  // namespace tandem
