// Closed forms of the time of a collective where each round costs one latency and a rank sends at one
// bandwidth.
#include <algorithm>
#include <bit>

#include "core/collective/collective.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// Rounds, and the sum over rounds of the largest share that a rank sends.
struct Amount {
  double rounds = 0, shares = 0;
};
Amount operator+(Amount a, Amount b) { return {a.rounds + b.rounds, a.shares + b.shares}; }
Amount operator*(double factor, Amount a) { return {factor * a.rounds, factor * a.shares}; }

// One ring pass over `n` ranks, each with `total` pieces in all: n - 1 rounds of one piece.
Amount pass(std::size_t n, double piece) {
  const double steps = static_cast<double>(n) - 1;
  return {steps, steps * piece};
}

double log2_ceil(std::size_t n) { return static_cast<double>(std::bit_width(n - 1)); }

Amount tree(CollectiveKind kind, std::size_t n) {
  const double levels = log2_ceil(n), ranks = static_cast<double>(n);
  const Amount whole{levels, levels}, own_pieces{levels, (ranks - 1) / ranks};  // 1 + 2 + 4 + … pieces: n - 1
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 2 * whole;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
      return whole + own_pieces;
    default:
      return whole;
  }
}

Amount halving_doubling(CollectiveKind kind, std::size_t n) {
  const std::size_t p = std::bit_floor(n), extra = n - p;
  const bool all_reduce = kind == CollectiveKind::AllReduce;
  const double total = static_cast<double>(all_reduce ? p : n);
  Amount half_way{log2_ceil(p), 0};
  for (std::size_t half = 1; half < p; half *= 2)
    half_way.shares += static_cast<double>(all_reduce ? half : half + std::min(half, extra)) / total;
  // Ranks beyond a power of two: the whole buffer one way; the other way the whole result or one piece.
  const Amount folding{extra > 0 ? 2.0 : 0.0, extra > 0 ? 1 + (all_reduce ? 1 : 1 / total) : 0.0};
  return (all_reduce ? 2.0 : 1.0) * half_way + folding;
}

}  // namespace

Seconds closed_form(CollectiveKind kind, Algorithm algorithm, std::size_t ranks, Bytes size, Seconds latency,
                    Bandwidth bandwidth, std::size_t ranks_per_node) {
  if (ranks <= 1) return Seconds(0);
  if (kind == CollectiveKind::Shift) return latency + size / bandwidth;
  const double n = static_cast<double>(ranks);
  const double passes = kind == CollectiveKind::AllReduce ? 2 : 1;
  Amount amount;
  switch (carried_by(kind, algorithm)) {
    case Algorithm::Tree:
      amount = tree(kind, ranks);
      break;
    case Algorithm::HalvingDoubling:
      amount = halving_doubling(kind, ranks);
      break;
    case Algorithm::Hierarchical: {
      const std::size_t g = ranks_per_node;
      check(g > 0 && ranks % g == 0, "a hierarchical collective needs nodes of equal size");
      amount = passes * (pass(g, 1 / static_cast<double>(g)) + pass(ranks / g, 1 / n));
      break;
    }
    default: {
      // Broadcast and reduce fill a chain with n pieces: n - 1 hops for the first, then n - 1 more pieces.
      const bool chain = kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
      amount = (chain ? 2 : passes) * pass(ranks, 1 / n);
    }
  }
  return amount.rounds * latency + amount.shares * size / bandwidth;
}

}  // namespace tandem
