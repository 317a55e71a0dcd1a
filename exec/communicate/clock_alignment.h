// How the clock of this rank reads against that of rank 0, by ping-pong.
#pragma once
#include <cstdint>
#include <span>

#include "exec/communicate/transport.h"

namespace tandem {

// One measurement: the exchange with the shortest round trip. Rank 0's reading = own reading + offset, within
// half a round trip.
struct ClockSample {
  Nanoseconds at = 0;  // own clock
  Nanoseconds offset = 0, round_trip = 0;
};
// All ranks together; each exchanges `repeats` messages with rank 0, one rank after the other. Zero on rank 0.
ClockSample sample_clock(Transport&, std::uint32_t tag, int repeats = 1000);

// A line through the samples, one from the start and one from the end of a run at least.
struct ClockAlignment {
  Nanoseconds origin = 0, offset = 0;  // own reading, and what to add there
  double drift = 0;                    // seconds a second
  Nanoseconds residual = 0;            // largest distance of a sample from the line
  Nanoseconds uncertainty = 0;         // largest half round trip

  Nanoseconds to_rank_0(Nanoseconds own) const;
};
ClockAlignment align_clock(std::span<const ClockSample>);

}  // namespace tandem
