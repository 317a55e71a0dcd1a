// The rounds of ring, tree, halving-doubling, hierarchical and pairwise collectives, as messages between
// places.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/collective/collective.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// Half-open range of pieces.
struct Range {
  std::size_t begin = 0, end = 0;
};

// Builds transfers with shares of a buffer that is cut in `total` pieces.
class Builder {
 public:
  explicit Builder(std::size_t total) : total_(total) {}
  void next() { list_.emplace_back(); }
  void send(std::size_t from, std::size_t to, Range range, bool reduce) {
    const std::size_t count = range.end - range.begin;
    if (count == 0) return;
    list_.back().push_back({.from = static_cast<std::uint32_t>(from),
                            .to = static_cast<std::uint32_t>(to),
                            .share = static_cast<double>(count) / static_cast<double>(total_),
                            .first_piece = static_cast<std::uint32_t>(range.begin),
                            .pieces = static_cast<std::uint32_t>(count),
                            .reduce = reduce});
  }
  std::vector<Round> take() { return std::move(list_); }

 private:
  std::size_t total_;
  std::vector<Round> list_;
};

// In round r rank i passes the piece that it completed in the round before: piece (i - r - offset) mod n.
void ring_pass(Builder& out, std::size_t n, bool reduce) {
  const std::size_t offset = reduce ? 1 : 0;
  for (std::size_t r = 0; r + 1 < n; ++r) {
    out.next();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t piece = (i + 2 * n - r - offset) % n;
      out.send(i, (i + 1) % n, {piece, piece + 1}, reduce);
    }
  }
}

// A chain passes n pieces one after the other from rank 0 to n - 1 (broadcast) or from n - 1 to 0 (reduce).
void chain(Builder& out, std::size_t n, bool reduce) {
  for (std::size_t r = 0; r + 2 < 2 * n; ++r) {
    out.next();
    for (std::size_t hop = 0; hop + 1 < n; ++hop) {
      if (hop > r || r - hop >= n) continue;
      const std::size_t piece = r - hop;
      const std::size_t from = reduce ? n - 1 - hop : hop;
      out.send(from, reduce ? from - 1 : from + 1, {piece, piece + 1}, reduce);
    }
  }
}

// The pieces that the ranks of a subtree own: ranks `rank` to `rank + width - 1`, where there are so many.
Range subtree(std::size_t rank, std::size_t width, std::size_t n) { return {rank, std::min(rank + width, n)}; }

// Binomial tree towards rank 0: sums of the whole buffer, or gathered pieces.
void tree_up(Builder& out, std::size_t n, bool whole, std::size_t whole_pieces, bool reduce) {
  for (std::size_t width = 1; width < n; width *= 2) {
    out.next();
    for (std::size_t rank = width; rank < n; rank += 2 * width) {
      const Range range = whole ? Range{0, whole_pieces} : subtree(rank, width, n);
      out.send(rank, rank - width, range, reduce);
    }
  }
}
// Away from rank 0: the whole buffer, or each subtree its own pieces.
void tree_down(Builder& out, std::size_t n, bool whole, std::size_t whole_pieces) {
  for (std::size_t width = std::bit_ceil(n) / 2; width > 0; width /= 2) {
    out.next();
    for (std::size_t rank = width; rank < n; rank += 2 * width) {
      const Range range = whole ? Range{0, whole_pieces} : subtree(rank, width, n);
      out.send(rank - width, rank, range, false);
    }
  }
}

// Halving and doubling among the p = 2^k first pairs' representatives. With e = n - p ranks too many, ranks 2i
// and 2i + 1 (i < e) act as one: 2i takes part for both.
struct Folding {
  std::size_t n, p, e;
  bool piece_per_rank;  // pieces belong to ranks; otherwise to representatives
  explicit Folding(std::size_t ranks, bool per_rank)
      : n(ranks), p(std::bit_floor(ranks)), e(ranks - p), piece_per_rank(per_rank) {}
  std::size_t rank(std::size_t v) const { return v < e ? 2 * v : v + e; }
  std::size_t boundary(std::size_t v) const { return piece_per_rank ? (v < e ? 2 * v : v + e) : v; }
  Range range(std::size_t v, std::size_t count) const { return {boundary(v), boundary(v + count)}; }
};

void halving(Builder& out, const Folding& fold) {
  for (std::size_t half = fold.p / 2; half > 0; half /= 2) {
    out.next();
    for (std::size_t v = 0; v < fold.p; ++v) {
      const std::size_t peer = v ^ half;
      out.send(fold.rank(v), fold.rank(peer), fold.range(peer & ~(half - 1), half), true);
    }
  }
}
void doubling(Builder& out, const Folding& fold) {
  for (std::size_t half = 1; half < fold.p; half *= 2) {
    out.next();
    for (std::size_t v = 0; v < fold.p; ++v)
      out.send(fold.rank(v), fold.rank(v ^ half), fold.range(v & ~(half - 1), half), false);
  }
}

std::vector<Round> halving_doubling(CollectiveKind kind, std::size_t n) {
  const bool all_reduce = kind == CollectiveKind::AllReduce;
  const Folding fold(n, !all_reduce);
  const std::size_t total = all_reduce ? fold.p : n;
  Builder out(total);
  const bool reduces = kind != CollectiveKind::AllGather, gathers = kind != CollectiveKind::ReduceScatter;
  if (fold.e > 0) {
    out.next();
    for (std::size_t v = 0; v < fold.e; ++v)
      out.send(2 * v + 1, 2 * v, reduces ? Range{0, total} : Range{2 * v + 1, 2 * v + 2}, reduces);
  }
  if (reduces) halving(out, fold);
  if (gathers) doubling(out, fold);
  if (fold.e > 0) {
    out.next();
    for (std::size_t v = 0; v < fold.e; ++v)
      out.send(2 * v, 2 * v + 1, gathers ? Range{0, total} : Range{2 * v + 1, 2 * v + 2}, false);
  }
  return out.take();
}

// Rank = node * g + place. Place p looks after the pieces of all ranks with place p, one a node.
void node_ring_pass(Builder& out, std::size_t nodes, std::size_t g, bool reduce) {
  for (std::size_t r = 0; r + 1 < g; ++r) {
    out.next();  // the pieces of one place do not lie side by side: as many messages as nodes, from one sender
    for (std::size_t node = 0; node < nodes; ++node)
      for (std::size_t place = 0; place < g; ++place) {
        const std::size_t owner = (place + 2 * g - r - (reduce ? 1 : 0)) % g;
        for (std::size_t other = 0; other < nodes; ++other) {
          const std::size_t piece = other * g + owner;
          out.send(node * g + place, node * g + (place + 1) % g, {piece, piece + 1}, reduce);
        }
      }
  }
}
void rail_ring_pass(Builder& out, std::size_t nodes, std::size_t g, bool reduce) {
  for (std::size_t r = 0; r + 1 < nodes; ++r) {
    out.next();
    for (std::size_t node = 0; node < nodes; ++node)
      for (std::size_t place = 0; place < g; ++place) {
        const std::size_t piece = (node + 2 * nodes - r - (reduce ? 1 : 0)) % nodes * g + place;
        out.send(node * g + place, (node + 1) % nodes * g + place, {piece, piece + 1}, reduce);
      }
  }
}

std::vector<Round> hierarchical(CollectiveKind kind, std::size_t n, std::size_t g) {
  check(g > 0 && n % g == 0, "a hierarchical collective needs nodes of equal size");
  Builder out(n);
  if (kind != CollectiveKind::AllGather) {
    node_ring_pass(out, n / g, g, true);
    rail_ring_pass(out, n / g, g, true);
  }
  if (kind != CollectiveKind::ReduceScatter) {
    rail_ring_pass(out, n / g, g, false);
    node_ring_pass(out, n / g, g, false);
  }
  return out.take();
}

// In round r every rank sends to the rank r + 1 places on: its own piece (gathering) or the receiver's.
void pairwise_pass(Builder& out, std::size_t n, bool own, bool reduce) {
  for (std::size_t r = 1; r < n; ++r) {
    out.next();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t to = (i + r) % n, piece = own ? i : to;
      out.send(i, to, {piece, piece + 1}, reduce);
    }
  }
}

std::vector<Round> tree(CollectiveKind kind, std::size_t n) {
  const bool whole = pieces(kind, Algorithm::Tree, n) == 1;
  Builder out(whole ? 1 : n);
  const std::size_t all = whole ? 1 : n;
  const bool up_whole = kind != CollectiveKind::AllGather, down_whole = kind != CollectiveKind::ReduceScatter;
  if (kind != CollectiveKind::Broadcast) tree_up(out, n, up_whole, all, up_whole);
  if (kind != CollectiveKind::Reduce) tree_down(out, n, down_whole, all);
  return out.take();
}

std::vector<Round> ring(CollectiveKind kind, std::size_t n) {
  Builder out(pieces(kind, Algorithm::Ring, n));
  switch (kind) {
    case CollectiveKind::AllReduce:
      ring_pass(out, n, true);
      ring_pass(out, n, false);
      break;
    case CollectiveKind::AllGather:
      ring_pass(out, n, false);
      break;
    case CollectiveKind::ReduceScatter:
      ring_pass(out, n, true);
      break;
    case CollectiveKind::Broadcast:
      chain(out, n, false);
      break;
    case CollectiveKind::Reduce:
      chain(out, n, true);
      break;
    case CollectiveKind::Shift:
      out.next();
      for (std::size_t i = 0; i < n; ++i) out.send(i, (i + 1) % n, {0, 1}, false);
      break;
    case CollectiveKind::AllToAll:
      break;
  }
  return out.take();
}

std::vector<Round> pairwise(CollectiveKind kind, std::size_t n) {
  Builder out(n);
  if (kind == CollectiveKind::AllToAll) pairwise_pass(out, n, false, false);
  if (kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter)
    pairwise_pass(out, n, false, true);
  if (kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather)
    pairwise_pass(out, n, true, false);
  return out.take();
}

}  // namespace

std::vector<Round> rounds(CollectiveKind kind, Algorithm algorithm, std::size_t ranks,
                          std::size_t ranks_per_node) {
  if (ranks <= 1) return {};
  switch (carried_by(kind, algorithm)) {
    case Algorithm::Tree:
      return tree(kind, ranks);
    case Algorithm::HalvingDoubling:
      return halving_doubling(kind, ranks);
    case Algorithm::Hierarchical:
      return hierarchical(kind, ranks, ranks_per_node);
    case Algorithm::Pairwise:
      return pairwise(kind, ranks);
    default:
      return ring(kind, ranks);
  }
}

}  // namespace tandem
