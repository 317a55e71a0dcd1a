// What one rank says of a step that it has done.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/communicate/communicator.h"

namespace tandem {

// Times by rank 0's clock.
struct RankReport {
  std::int64_t step = 0;
  Nanoseconds start = 0, end = 0;  // of the whole step on this rank
  double loss = 0;                 // its part of the mean over the global batch
  double gradient_norm = 0;
  std::uint64_t arena_bytes = 0;     // the block that holds all planned values
  std::uint64_t overflow_bytes = 0;  // most that routed tokens took beside it
  std::uint64_t resident_bytes = 0;  // most that its process ever had in memory, with all of its threads' ranks
  std::vector<CommunicationTimes> tasks;  // by task of the rank's program
};

std::vector<std::byte> packed(const RankReport&);
RankReport unpacked(std::span<const std::byte>);

}  // namespace tandem
