// Ping-pong with rank 0, and a line through what it found.
#include "exec/communicate/clock_alignment.h"

#include <algorithm>
#include <cmath>

#include "core/problem/problem.h"

namespace tandem {
namespace {

// Rank 0's reading halfway between the two own readings of the quickest exchange.
ClockSample ask(Transport& transport, std::uint32_t tag, int repeats) {
  ClockSample best{.round_trip = never};
  for (int i = 0; i < repeats; ++i) {
    Nanoseconds theirs = 0;
    const Nanoseconds sent = now();
    complete(transport, transport.send(0, tag, std::as_bytes(std::span(&sent, 1))));
    complete(transport, transport.receive(0, tag, std::as_writable_bytes(std::span(&theirs, 1))));
    const Nanoseconds received = now(), round_trip = received - sent, middle = sent + round_trip / 2;
    if (round_trip < best.round_trip) best = {middle, theirs - middle, round_trip};
  }
  return best;
}

void answer(Transport& transport, std::uint32_t rank, std::uint32_t tag, int repeats) {
  for (int i = 0; i < repeats; ++i) {
    Nanoseconds theirs = 0;
    complete(transport, transport.receive(rank, tag, std::as_writable_bytes(std::span(&theirs, 1))));
    const Nanoseconds reading = now();
    complete(transport, transport.send(rank, tag, std::as_bytes(std::span(&reading, 1))));
  }
}

}  // namespace

ClockSample sample_clock(Transport& transport, std::uint32_t tag, int repeats) {
  check(repeats > 0, "a clock sample needs an exchange");
  if (transport.rank() > 0) return ask(transport, tag, repeats);
  for (std::uint32_t rank = 1; rank < transport.ranks(); ++rank) answer(transport, rank, tag, repeats);
  return {.at = now()};
}

ClockAlignment align_clock(std::span<const ClockSample> samples) {
  check(!samples.empty(), "clocks are aligned by samples");
  ClockAlignment line{.origin = samples[0].at, .offset = samples[0].offset};
  // Least squares relative to the first sample, which keeps nanoseconds exact in a double.
  double x = 0, y = 0, xx = 0, xy = 0;
  const double n = static_cast<double>(samples.size());
  for (const ClockSample& s : samples) {
    const double dx = static_cast<double>(s.at - line.origin), dy = static_cast<double>(s.offset - line.offset);
    x += dx / n, y += dy / n, xx += dx * dx / n, xy += dx * dy / n;
  }
  const double spread = xx - x * x;
  line.drift = spread > 0 ? (xy - x * y) / spread : 0;
  line.offset += std::llround(y - line.drift * x);
  for (const ClockSample& s : samples) {
    line.residual = std::max(line.residual, std::abs(line.to_rank_0(s.at) - (s.at + s.offset)));
    line.uncertainty = std::max(line.uncertainty, s.round_trip / 2);
  }
  return line;
}

Nanoseconds ClockAlignment::to_rank_0(Nanoseconds own) const {
  return own + offset + std::llround(drift * static_cast<double>(own - origin));
}

}  // namespace tandem
