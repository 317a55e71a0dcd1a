// The engine that estimate and simulate share: ready set, lanes in order, rendezvous, host launches, overlap,
// jitter.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/estimate/core_sharing.h"
#include "core/estimate/play_graph.h"
#include "core/estimate/playback.h"
#include "core/estimate/timed_queue.h"

namespace tandem {

// Where flows go that may share links. Each flow must be answered by Player::flow_ended.
class FlowPort {
 public:
  virtual ~FlowPort() = default;
  // Moves bytes over each link of PlayGraph::parts[part].
  virtual void start(std::uint32_t operation, std::uint32_t part, double bytes) = 0;
};

struct PlayerOptions {
  double jitter = 0;
  std::uint64_t seed = 0;
  std::vector<RankId> recorded;
  std::function<bool(double)> progress;
};

// Owns the dates of timed operations; the caller owns the clock: it advances to the earlier of next_time() and
// the next end of a flow, and says so. An operation is a lane (its running task) or a channel class (its
// running collective).
class Player {
 public:
  // Without a port every communication takes its time alone. `graph`, `tasks` and `classes` outlive the player.
  Player(const TaskGraph& tasks, const PlayGraph& graph, const Classes& classes, const PlayerOptions&,
         FlowPort* = nullptr);

  void begin();  // at time 0
  bool has_timed() const { return !queue_.empty(); }
  double next_time() const { return queue_.top().time; }
  void fire();  // the event at next_time()
  void flow_ended(std::uint32_t operation, double now);

  bool stopped() const { return stopped_; }  // by progress
  std::size_t flows_in_flight() const { return flows_in_flight_; }
  // Throws std::logic_error that names what waits, when tasks are left and nothing can happen any more.
  void check_finished() const;
  Playback result();

 private:
  enum class Status : std::uint8_t { Waiting, Arrived, Starting, Delaying, Flowing, Running };
  struct LaneState {
    double time = 0;  // arrived: since when it is ready; then: start of the task
    std::uint32_t head = no_task;
    Status status = Status::Waiting;
    std::uint16_t parts_left = 0;
  };
  struct RankState {
    std::uint32_t lane_begin = 0;
    std::uint32_t version = 0;         // of the running computation's date
    std::uint32_t piece = 0;           // of a joined run: the one that runs
    double remaining = 0, since = 0;   // s of it without slow-down, and from when on
    std::uint32_t communications = 0;  // running on this rank
    std::uint32_t record = 0;          // 1 + index in records_, 0: none
    double host_delay = 0;             // s that the host has waited for messages so far
    double run_delay = 0;              // the same when the running joined run was issued
  };
  struct Cause {
    HeldBy held_by = HeldBy::Nothing;
    std::uint32_t rank = 0, task = no_task;  // class, compiled task
  };
  struct GroupState {
    double time = 0;  // latest arrival; then: start of the collective
    Cause last;       // why the latest member came so late
    std::uint32_t arrived = 0, entry = 0;
    Status status = Status::Waiting;
    std::uint32_t parts_left = 0;
  };
  struct Member {
    std::uint32_t rank, slot;
  };
  struct Record {
    std::uint32_t rank;
    std::vector<TaskTimes> times;
    std::vector<Cause> pending;
  };

  const CompiledProgram& program(std::uint32_t rank) const {
    return graph_.programs[graph_.ranks[rank].program];
  }
  LaneState& lane(std::uint32_t rank, std::uint32_t slot) { return lanes_[ranks_[rank].lane_begin + slot]; }
  std::span<const Member> members(std::uint32_t channel) const {
    const ChannelClass& c = graph_.channels[channel];
    return {members_.data() + c.member_begin, members_.data() + c.member_end};
  }

  void try_start(std::uint32_t rank, std::uint32_t slot, double now, Cause cause);
  void start_alone(std::uint32_t rank, const PlayedTask&, LaneState&, double at, double now);
  void arrive(std::uint32_t rank, const PlayedTask&, double at, double now, const Cause&);
  void meet(std::uint32_t rank, std::uint32_t task, const PlayedTask&, double now, const Cause&);
  void start_group(std::uint32_t channel, double now);
  void start_message(std::uint32_t rank, std::uint32_t slot, double now);
  // Times a communication, or the delay before its flows; gives its next status. `copying`: the ranks whose
  // cores it keeps busy where they share some.
  Status set_out(std::uint32_t operation, const ChannelEntry&, std::span<const std::uint32_t> copying,
                 double now);
  std::uint32_t part_count(const ChannelClass&, const ChannelEntry&) const;
  void launch(std::uint32_t operation, const ChannelClass&, const ChannelEntry&);
  void group_event(std::uint32_t channel, double now);
  void lane_event(std::uint32_t operation, std::uint32_t version, double now);
  void finish_group(std::uint32_t channel, double now);
  void finish_message(std::uint32_t rank, std::uint32_t slot, double now);
  void complete(std::uint32_t rank, std::uint32_t slot, double start, double now);
  void communication_begins(std::uint32_t rank, double now);
  void communication_ends(std::uint32_t rank, double now);
  void time_compute(std::uint32_t rank, double now, bool slowed);
  void advance_run(std::uint32_t rank, const PlayedTask&, double until, bool slowed);
  double compute_end(std::uint32_t rank, const PlayedTask&) const;
  double jitter_factor(std::uint32_t rank, std::uint32_t origin) const;
  PeerClass peer_of(std::uint32_t rank, const PlayedTask&) const;
  void push(double time, std::uint32_t operation, std::uint32_t version);
  void remember_cause(std::uint32_t rank, std::uint32_t slot, const Cause&);
  void record(std::uint32_t rank, std::uint32_t slot, std::uint32_t task, double start, double end);
  void record_piece(std::uint32_t rank, std::uint32_t piece, double end, double next_start);
  std::uint32_t last_origin(std::uint32_t rank, std::uint32_t task) const;

  const TaskGraph& tasks_;
  const PlayGraph& graph_;
  const PlayerOptions& options_;
  FlowPort* port_;
  TimedQueue queue_;
  CoreSharing cores_;
  std::vector<RankState> ranks_;
  std::vector<LaneState> lanes_;
  std::vector<std::uint32_t> rank_of_lane_;
  std::vector<GroupState> groups_;
  std::vector<Member> members_;
  std::vector<std::vector<std::uint32_t>> ranks_of_class_;  // filled with jitter only
  std::vector<Record> records_;
  std::vector<std::pair<RankId, std::uint32_t>> wanted_;  // rank, index in records_
  double end_ = 0;
  std::size_t tasks_total_ = 0, tasks_done_ = 0, events_ = 0, flows_ = 0, timed_ = 0, flows_in_flight_ = 0;
  bool stopped_ = false;
};

}  // namespace tandem
