// A program with durations: what a rank of one program on one kind of device plays, lane by lane.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/estimate/communications.h"
#include "core/estimate/cost_source.h"
#include "core/task/task_graph.h"

namespace tandem {

enum class PlayKind : std::uint8_t {
  Compute,  // slowed down by its device's slowdown, jitter and communication that runs beside it
  Timed,    // copies and input: nothing slows them
  Collective,
  Send,
  Receive,
};

constexpr std::uint32_t no_task = std::numeric_limits<std::uint32_t>::max();

struct PlayedTask {
  double duration = 0;  // s, of Compute and Timed when nothing slows it
  double release = 0;   // s: the host has issued it
  std::uint32_t after_begin = 0, after_end = 0;
  std::uint32_t piece_begin = 0, piece_end = 0;  // a joined run: in CompiledProgram::pieces
  std::uint32_t next = no_task;                  // on its lane
  std::uint32_t entry = 0;  // Collective: index in AxisUse::works; Send: index in PeerUse::sizes
  std::uint32_t message = no_message;
  std::uint32_t origin = 0;   // task of the program
  std::uint16_t wakes = 0;    // slots with a task that waits for this one
  std::uint16_t channel = 0;  // index in Communications::axes, sends or receives
  std::uint8_t slot = 0;
  PlayKind kind = PlayKind::Compute;
};

// Slots are the lanes in use, numbered from 0.
struct CompiledProgram {
  ProgramId program;
  std::uint32_t device_key = 0;
  double overlap_slowdown = 1;
  bool host_waits = false;           // for each message that it receives, before it issues what stands behind
  std::vector<PlayedTask> tasks;     // in the program's order
  std::vector<std::uint32_t> after;  // edges to other slots only: a lane keeps its own order
  std::vector<std::uint32_t> first;  // by slot
  std::vector<Lane> lanes;           // by slot
  std::vector<std::uint32_t> axis_slots;  // by Communications::axes: the slot of its collectives
  std::uint8_t compute_slot = 0;          // no Compute task: lanes.size()
  // The tasks of runs that `join_runs` made one task each. Index 0: nothing slows them, 1: overlap slows
  // computations.
  struct Piece {
    std::uint32_t origin = 0;
    bool compute = true;
    double duration = 0, release = 0;
    double rest[2] = {0, 0};   // s, of the pieces behind this one
    double floor[2] = {0, 0};  // when those end if the host's launches hold them up
  };
  std::vector<Piece> pieces;
  std::size_t origin_count = 0;  // tasks of the program
};

// Seconds that the host of a rank takes to issue its communications: by axis and entry, by send and size, by
// receive and size (as PeerUse::sizes).
struct IssueTimes {
  std::vector<std::vector<double>> collectives, sends, receives;
  auto operator<=>(const IssueTimes&) const = default;
};

// Device and host durations, straggler factor included when `stragglers`. The device stands for all of its
// device_key.
CompiledProgram compile(const TaskGraph&, ProgramId, const Communications&, const IssueTimes&,
                        const CostSource&, DeviceId, bool stragglers);

// Fills `next`, `first`, `wakes` from slots and edges.
void link_lanes(CompiledProgram&);

}  // namespace tandem
