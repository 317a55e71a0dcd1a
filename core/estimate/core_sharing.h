// Computations and communications of ranks that share the cores of a machine.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/estimate/play_graph.h"
#include "core/estimate/timed_queue.h"

namespace tandem {

// Processor sharing: a computation asks for its threads' cores, a rank's communication (one thread carries all
// its lanes) for one; where a machine is asked for more than it has, everything there goes on slower by the
// same factor. Operations end by events in the queue, each with the version of its newest date.
class CoreSharing {
 public:
  // Both outlive this.
  CoreSharing(const PlayGraph& graph, TimedQueue& queue);

  bool shares(std::uint32_t rank) const { return graph_.ranks[rank].machine != no_class; }
  // Whether an event of this version is one of its dates, of an operation that goes on or of one long ended.
  static bool gave(std::uint32_t version) { return version >= first_version; }
  // `seconds` with its cores to itself.
  void compute(std::uint32_t operation, std::uint32_t rank, double seconds, double now);
  // False, and nothing is done, where none of the ranks shares cores.
  bool communicate(std::uint32_t operation, std::span<const std::uint32_t> ranks, double seconds, double now);
  // False: an old date of an operation that goes on. True: it has ended.
  bool finish(std::uint32_t operation, std::uint32_t version, double now);

 private:
  struct Job {
    double remaining = 0, since = 0, rate = 1;  // s of it at rate 1, from when on
    std::uint32_t version = 0;
    bool computes = true;
    std::vector<std::uint32_t> ranks;  // that share cores
  };
  void begin(std::uint32_t operation, Job);
  void ask(const Job&, int change);  // adds it to what machines are asked for, or takes it away
  double rate(const Job&) const;
  void set_dates(double now);

  const PlayGraph& graph_;
  TimedQueue& queue_;
  std::map<std::uint32_t, Job> jobs_;          // by operation
  std::vector<double> asked_;                  // cores, by machine
  std::vector<std::uint32_t> communications_;  // under way, by rank
  // Smaller ones belong to the player's own dates.
  static constexpr std::uint32_t first_version = 1u << 31;
  std::uint32_t next_version_ = first_version;
};

}  // namespace tandem
