// Moves tasks along their lanes as operations end, and starts what became ready.
#include "core/estimate/player.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "core/estimate/mix.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

constexpr std::size_t kEventsBetweenProgress = std::size_t{1} << 16;
// Normal draws are cut here, so that a task's time stays positive for every sensible jitter.
constexpr double kMostDeviations = 3;

// Box and Muller's transform of two uniform numbers that depend on the key alone.
double normal_draw(std::uint64_t key) {
  const double u = (static_cast<double>(mix(key, 1u) >> 11) + 1) * 0x1p-53;
  const double v = static_cast<double>(mix(key, 2u) >> 11) * 0x1p-53;
  const double z = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  return std::clamp(z, -kMostDeviations, kMostDeviations);
}

}  // namespace

Player::Player(const TaskGraph& tasks, const PlayGraph& graph, const Classes& classes,
               const PlayerOptions& options, FlowPort* port)
    : tasks_(tasks), graph_(graph), options_(options), port_(port), cores_(graph, queue_) {
  ranks_.resize(graph.ranks.size());
  for (std::uint32_t r = 0; r < graph.ranks.size(); ++r) {
    const CompiledProgram& p = program(r);
    ranks_[r].lane_begin = static_cast<std::uint32_t>(lanes_.size());
    for (std::uint32_t first : p.first) {
      lanes_.push_back({.head = first});
      rank_of_lane_.push_back(r);
    }
    tasks_total_ += p.tasks.size();
  }
  groups_.resize(graph.channels.size());
  members_.resize(graph.members.size());
  for (std::uint32_t c = 0; c < graph.channels.size(); ++c) {
    for (std::uint32_t m = graph.channels[c].member_begin; m < graph.channels[c].member_end; ++m) {
      const std::uint32_t r = graph.members[m];
      const CompiledProgram& p = program(r);
      const auto groups = graph.group_of.begin() + graph.ranks[r].group_begin;
      // A member whose program never meets this axis has no slot; the collective then stays blocked and is
      // reported.
      members_[m] = {r, static_cast<std::uint32_t>(p.lanes.size())};
      for (std::uint32_t axis = 0; axis < p.axis_slots.size(); ++axis) {
        if (groups[axis] == c) members_[m].slot = p.axis_slots[axis];
      }
    }
  }
  std::vector<std::uint32_t> record_of(graph.ranks.size(), 0);
  for (RankId rank : options.recorded) {
    check(rank.value < classes.of_rank.size(), "a recorded rank exists");
    const std::uint32_t r = classes.of_rank[rank.value];
    if (record_of[r] == 0) {
      records_.push_back(
          {r, std::vector<TaskTimes>(program(r).origin_count), std::vector<Cause>(program(r).lanes.size())});
      record_of[r] = static_cast<std::uint32_t>(records_.size());
      ranks_[r].record = record_of[r];
    }
    wanted_.emplace_back(rank, record_of[r] - 1);
  }
  if (options.jitter > 0) {
    ranks_of_class_.resize(graph.ranks.size());
    for (std::uint32_t rank = 0; rank < classes.of_rank.size(); ++rank)
      ranks_of_class_[classes.of_rank[rank]].push_back(rank);
  }
}

void Player::begin() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const std::size_t slots = program(r).lanes.size();
    for (std::uint32_t slot = 0; slot < slots; ++slot)
      try_start(r, slot, 0, {.held_by = HeldBy::Nothing, .rank = r});
  }
}

void Player::push(double time, std::uint32_t operation, std::uint32_t version) {
  queue_.push(time, operation, version);
}

void Player::fire() {
  TimedEvent event = queue_.pop();
  if (CoreSharing::gave(event.version)) {
    if (!cores_.finish(event.operation, event.version, event.time)) return;
    event.version = 0;
  }
  if (++events_ % kEventsBetweenProgress == 0 && options_.progress) {
    stopped_ = !options_.progress(static_cast<double>(tasks_done_) /
                                  static_cast<double>(std::max<std::size_t>(tasks_total_, 1)));
  }
  if (event.operation < lanes_.size()) {
    lane_event(event.operation, event.version, event.time);
  } else {
    group_event(event.operation - static_cast<std::uint32_t>(lanes_.size()), event.time);
  }
}

// Starts the head of a lane if the lane is free and all it waits for is done.
void Player::try_start(std::uint32_t r, std::uint32_t slot, double now, Cause cause) {
  LaneState& l = lane(r, slot);
  if (l.status != Status::Waiting || l.head == no_task) return;
  const CompiledProgram& p = program(r);
  const PlayedTask& task = p.tasks[l.head];
  const LaneState* mine = &lanes_[ranks_[r].lane_begin];
  for (std::uint32_t e = task.after_begin; e < task.after_end; ++e) {
    const std::uint32_t before = p.after[e];
    // Lanes keep the program's order, so whatever is behind a lane's head is done.
    if (mine[p.tasks[before].slot].head <= before) return;
  }
  double at = now;
  if (const double release = task.release + ranks_[r].host_delay; release > now) {
    at = release;
    cause.held_by = HeldBy::Host;
  }
  if (ranks_[r].record > 0) remember_cause(r, slot, cause);
  if (task.kind == PlayKind::Compute || task.kind == PlayKind::Timed) {
    start_alone(r, task, l, at, now);
    return;
  }
  l.status = Status::Arrived;
  l.time = at;
  if (task.kind == PlayKind::Collective) {
    arrive(r, task, at, now, cause);
  } else {
    meet(r, l.head, task, now, cause);
  }
}

void Player::start_alone(std::uint32_t r, const PlayedTask& task, LaneState& l, double at, double now) {
  l.status = Status::Running;
  l.time = at;
  ++timed_;
  RankState& rank = ranks_[r];
  const auto operation = rank.lane_begin + task.slot;
  if (task.kind == PlayKind::Timed) return push(at + task.duration, operation, 0);
  const double duration = task.duration * graph_.ranks[r].slowdown * jitter_factor(r, task.origin);
  if (task.slot != program(r).compute_slot) return push(at + duration, operation, 0);
  if (cores_.shares(r)) return cores_.compute(operation, r, at - now + duration, now);
  const bool run = task.piece_begin != task.piece_end;
  rank.piece = task.piece_begin;
  rank.run_delay = rank.host_delay;
  rank.remaining = run ? program(r).pieces[task.piece_begin].duration : duration;
  rank.since = at;
  push(compute_end(r, task), operation, ++rank.version);
}

// When the running computation, or joined run, ends if communication beside it stays as it is.
double Player::compute_end(std::uint32_t r, const PlayedTask& task) const {
  const RankState& rank = ranks_[r];
  const CompiledProgram& p = program(r);
  const bool slowed = rank.communications > 0;
  const double factor = slowed ? p.overlap_slowdown : 1;
  if (task.piece_begin == task.piece_end) return rank.since + rank.remaining * factor;
  const CompiledProgram::Piece& piece = p.pieces[rank.piece];
  const double end = rank.since + rank.remaining * (piece.compute ? factor : 1);
  return std::max(end + piece.rest[slowed], piece.floor[slowed] + rank.run_delay);
}

double Player::jitter_factor(std::uint32_t r, std::uint32_t origin) const {
  if (options_.jitter == 0) return 1;
  double largest = -kMostDeviations;
  for (std::uint32_t rank : ranks_of_class_[r]) {
    const std::uint64_t key = mix(mix(options_.seed, rank), origin);
    largest = std::max(largest, normal_draw(key));
  }
  return std::max(0.0, 1 + options_.jitter * largest);
}

void Player::communication_begins(std::uint32_t r, double now) {
  if (ranks_[r].communications++ == 0) time_compute(r, now, false);
}
void Player::communication_ends(std::uint32_t r, double now) {
  if (--ranks_[r].communications == 0) time_compute(r, now, true);
}

// The first communication beside a computation came or the last one went: what is left of it gets a new date.
void Player::time_compute(std::uint32_t r, double now, bool slowed) {
  const CompiledProgram& p = program(r);
  if (p.overlap_slowdown == 1 || p.compute_slot >= p.lanes.size()) return;
  const LaneState& l = lane(r, p.compute_slot);
  if (l.status != Status::Running || p.tasks[l.head].kind != PlayKind::Compute) return;
  const PlayedTask& task = p.tasks[l.head];
  RankState& rank = ranks_[r];
  if (task.piece_begin != task.piece_end) {
    advance_run(r, task, now, slowed);
  } else if (now > rank.since) {
    rank.remaining = std::max(0.0, rank.remaining - (now - rank.since) / (slowed ? p.overlap_slowdown : 1));
    rank.since = now;
  }
  push(compute_end(r, task), rank.lane_begin + task.slot, ++rank.version);
}

// Moves on through the pieces of a run; stays in the last one.
void Player::advance_run(std::uint32_t r, const PlayedTask& task, double until, bool slowed) {
  const CompiledProgram& p = program(r);
  RankState& rank = ranks_[r];
  for (;;) {
    const double factor = slowed && p.pieces[rank.piece].compute ? p.overlap_slowdown : 1;
    const double end = rank.since + rank.remaining * factor;
    if (rank.piece + 1 == task.piece_end || end > until) {
      if (until <= rank.since) return;
      rank.remaining = std::max(0.0, rank.remaining - (until - rank.since) / factor);
      rank.since = until;
      return;
    }
    const CompiledProgram::Piece& next = p.pieces[rank.piece + 1];
    const double start = std::max(end, next.release + rank.run_delay);
    if (rank.record > 0) record_piece(r, rank.piece, end, start);
    ++rank.piece;
    rank.remaining = next.duration;
    rank.since = start;
  }
}

// A member reaches its group's next collective; the last one starts it.
void Player::arrive(std::uint32_t r, const PlayedTask& task, double at, double now, const Cause& cause) {
  const std::uint32_t channel = graph_.group_of[graph_.ranks[r].group_begin + task.channel];
  GroupState& group = groups_[channel];
  if (group.arrived == 0 || at >= group.time) {
    group.time = at;
    group.last = cause;
  }
  group.entry = task.entry;
  if (++group.arrived < members(channel).size()) return;
  group.arrived = 0;
  for (const Member& member : members(channel)) {
    const Record* record = ranks_[member.rank].record > 0 ? &records_[ranks_[member.rank].record - 1] : nullptr;
    // Who came at the same moment as the last one was not held up by it.
    const bool waited = group.time - lane(member.rank, member.slot).time > 1e-12 * std::max(1.0, group.time);
    if (record && waited) {
      remember_cause(member.rank, member.slot, {HeldBy::Peer, group.last.rank, group.last.task});
    }
  }
  if (group.time > now) {
    group.status = Status::Starting;
    push(group.time, static_cast<std::uint32_t>(lanes_.size()) + channel, 0);
  } else {
    start_group(channel, now);
  }
}

PeerClass Player::peer_of(std::uint32_t r, const PlayedTask& task) const {
  const RankClass& rank = graph_.ranks[r];
  return graph_.peers[(task.kind == PlayKind::Send ? rank.send_begin : rank.receive_begin) + task.channel];
}

// One side of a message is ready; it starts if the other side is. The sender's lane then stands for both.
void Player::meet(std::uint32_t r, std::uint32_t t, const PlayedTask& task, double now, const Cause& cause) {
  const PeerClass peer = peer_of(r, task);
  const std::uint32_t other = graph_.pairings[peer.pairing][t];
  if (other == no_task) return;
  const PlayedTask& other_task = program(peer.rank).tasks[other];
  LaneState& theirs = lane(peer.rank, other_task.slot);
  if (theirs.head != other || theirs.status != Status::Arrived) return;
  LaneState& mine = lane(r, task.slot);
  const double start = std::max(mine.time, theirs.time);
  if (theirs.time <= mine.time) {
    if (ranks_[peer.rank].record > 0)
      remember_cause(peer.rank, other_task.slot, {HeldBy::Peer, cause.rank, cause.task});
  } else if (ranks_[r].record > 0) {
    remember_cause(r, task.slot, {HeldBy::Peer, peer.rank, no_task});
  }
  const bool sending = task.kind == PlayKind::Send;
  mine.time = theirs.time = start;
  mine.status = theirs.status = Status::Starting;
  const std::uint32_t sender = sending ? r : peer.rank, slot = sending ? task.slot : other_task.slot;
  if (start > now) {
    push(start, ranks_[sender].lane_begin + slot, 0);
  } else {
    start_message(sender, slot, now);
  }
}

Player::Status Player::set_out(std::uint32_t operation, const ChannelEntry& entry,
                               std::span<const std::uint32_t> copying, double now) {
  ++timed_;
  const bool flows = port_ != nullptr && entry.pattern != no_pattern;
  if (!flows) {
    if (!cores_.communicate(operation, copying, entry.total, now)) push(now + entry.total, operation, 0);
    return Status::Running;
  }
  push(now + entry.delay, operation, 0);
  return Status::Delaying;
}

std::uint32_t Player::part_count(const ChannelClass& channel, const ChannelEntry& entry) const {
  const std::uint32_t pattern = channel.pattern_begin + entry.pattern;
  return graph_.pattern_parts[pattern + 1] - graph_.pattern_parts[pattern];
}

void Player::launch(std::uint32_t operation, const ChannelClass& channel, const ChannelEntry& entry) {
  const std::uint32_t begin = graph_.pattern_parts[channel.pattern_begin + entry.pattern];
  const std::uint32_t count = part_count(channel, entry);
  flows_ += count;
  flows_in_flight_ += count;
  for (std::uint32_t part = begin; part < begin + count; ++part) {
    port_->start(operation, part, entry.bytes * graph_.parts[part].share);
  }
}

void Player::start_group(std::uint32_t channel, double now) {
  GroupState& group = groups_[channel];
  group.time = now;
  for (const Member& member : members(channel)) communication_begins(member.rank, now);
  const ChannelClass& c = graph_.channels[channel];
  const std::span copying(graph_.members.data() + c.member_begin, graph_.members.data() + c.member_end);
  group.status = set_out(static_cast<std::uint32_t>(lanes_.size()) + channel,
                         graph_.entries[c.entry_begin + group.entry], copying, now);
}

void Player::start_message(std::uint32_t r, std::uint32_t slot, double now) {
  LaneState& l = lane(r, slot);
  const PlayedTask& task = program(r).tasks[l.head];
  const PeerClass peer = peer_of(r, task);
  communication_begins(r, now);
  communication_begins(peer.rank, now);
  const ChannelEntry& entry = graph_.entries[graph_.channels[peer.channel].entry_begin + task.entry];
  // Between ranks of a machine the receiver copies.
  l.status = set_out(ranks_[r].lane_begin + slot, entry, {&peer.rank, 1}, now);
}

void Player::group_event(std::uint32_t channel, double now) {
  GroupState& group = groups_[channel];
  switch (group.status) {
    case Status::Starting:
      return start_group(channel, now);
    case Status::Delaying: {
      const ChannelClass& c = graph_.channels[channel];
      const ChannelEntry& entry = graph_.entries[c.entry_begin + group.entry];
      group.status = Status::Flowing;
      group.parts_left = part_count(c, entry);
      return launch(static_cast<std::uint32_t>(lanes_.size()) + channel, c, entry);
    }
    case Status::Running:
      return finish_group(channel, now);
    default:
      check(false, "a collective has one date at a time");
  }
}

void Player::lane_event(std::uint32_t operation, std::uint32_t version, double now) {
  const std::uint32_t r = rank_of_lane_[operation], slot = operation - ranks_[r].lane_begin;
  LaneState& l = lanes_[operation];
  if (version != 0) {  // a computation: only its newest date counts
    if (version == ranks_[r].version && l.status == Status::Running) complete(r, slot, l.time, now);
    return;
  }
  const PlayedTask& task = program(r).tasks[l.head];
  if (task.kind != PlayKind::Send) return complete(r, slot, l.time, now);
  switch (l.status) {
    case Status::Starting:
      return start_message(r, slot, now);
    case Status::Delaying: {
      const ChannelClass& c = graph_.channels[peer_of(r, task).channel];
      const ChannelEntry& entry = graph_.entries[c.entry_begin + task.entry];
      l.status = Status::Flowing;
      l.parts_left = static_cast<std::uint16_t>(part_count(c, entry));
      return launch(operation, c, entry);
    }
    case Status::Running:
      return finish_message(r, slot, now);
    default:
      check(false, "a message has one date at a time");
  }
}

void Player::flow_ended(std::uint32_t operation, double now) {
  --flows_in_flight_;
  if (operation < lanes_.size()) {
    const std::uint32_t r = rank_of_lane_[operation];
    if (--lanes_[operation].parts_left == 0) finish_message(r, operation - ranks_[r].lane_begin, now);
  } else {
    const std::uint32_t channel = operation - static_cast<std::uint32_t>(lanes_.size());
    if (--groups_[channel].parts_left == 0) finish_group(channel, now);
  }
}

void Player::finish_group(std::uint32_t channel, double now) {
  GroupState& group = groups_[channel];
  group.status = Status::Waiting;
  const double start = group.time;
  for (const Member& member : members(channel)) communication_ends(member.rank, now);
  for (const Member& member : members(channel)) complete(member.rank, member.slot, start, now);
}

void Player::finish_message(std::uint32_t r, std::uint32_t slot, double now) {
  const LaneState& l = lane(r, slot);
  const PlayedTask& task = program(r).tasks[l.head];
  const PeerClass peer = peer_of(r, task);
  const std::uint32_t other = graph_.pairings[peer.pairing][l.head];
  const std::uint32_t other_slot = program(peer.rank).tasks[other].slot;
  const double start = l.time;
  communication_ends(r, now);
  communication_ends(peer.rank, now);
  complete(r, slot, start, now);
  complete(peer.rank, other_slot, start, now);
}

void Player::complete(std::uint32_t r, std::uint32_t slot, double start, double now) {
  LaneState& l = lane(r, slot);
  const std::uint32_t t = l.head;
  const PlayedTask& task = program(r).tasks[t];
  if (ranks_[r].record > 0) record(r, slot, t, start, now);
  // A host that waits for what it receives issues everything behind it later by as much.
  if (task.kind == PlayKind::Receive && program(r).host_waits)
    ranks_[r].host_delay = std::max(ranks_[r].host_delay, now - task.release);
  l.head = task.next;
  l.status = Status::Waiting;
  ++tasks_done_;
  end_ = std::max(end_, now);
  try_start(r, slot, now, {HeldBy::Lane, r, t});
  for (std::uint32_t others = task.wakes; others != 0; others &= others - 1) {
    try_start(r, static_cast<std::uint32_t>(std::countr_zero(others)), now, {HeldBy::Dependency, r, t});
  }
}

}  // namespace tandem
