// One collective on known data, and what each member must hold afterwards by its definition.
#pragma once
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "exec/communicate/operation.h"

namespace tandem {

struct CollectiveCase {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Algorithm algorithm = Algorithm::Auto;
  std::size_t elements = 0;
};
inline std::string text(const CollectiveCase& c) {
  return std::string(name(c.kind)) + " by " + std::string(name(c.algorithm)) + " of " +
         std::to_string(c.elements);
}

constexpr CollectiveKind all_kinds[] = {CollectiveKind::AllReduce,     CollectiveKind::AllGather,
                                        CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                        CollectiveKind::Broadcast,     CollectiveKind::Reduce,
                                        CollectiveKind::Shift};
constexpr Algorithm all_algorithms[] = {Algorithm::Auto,         Algorithm::Ring,
                                        Algorithm::Tree,         Algorithm::HalvingDoubling,
                                        Algorithm::Hierarchical, Algorithm::Pairwise};

inline std::size_t node_size(std::size_t ranks) {
  for (const std::size_t g : {4u, 3u, 2u})
    if (ranks % g == 0) return g;
  return 1;
}

// All ranks of the transport, place = rank.
inline Members everyone(const Transport& transport, std::uint32_t tag = 0) {
  Members members{
      .ranks = std::vector<std::uint32_t>(transport.ranks()), .place = transport.rank(), .tag = tag};
  std::iota(members.ranks.begin(), members.ranks.end(), 0u);
  members.ranks_per_node = node_size(transport.ranks());
  return members;
}

// Small whole numbers, which floats add without rounding.
inline float initial(std::size_t rank, std::size_t i) {
  return static_cast<float>((rank + 1) * 1000 + i % 997);
}

// The value of element i at this rank: of the buffer worked in, or of the result where it lies apart.
inline std::vector<float> expected(const CollectiveCase& c, std::size_t ranks, std::size_t rank) {
  std::vector<float> values(c.elements);
  for (std::size_t i = 0; i < c.elements; ++i) {
    float sum = 0;
    for (std::size_t r = 0; r < ranks; ++r) sum += initial(r, i);
    const std::size_t part = c.elements / ranks;
    switch (c.kind) {
      case CollectiveKind::AllReduce:
      case CollectiveKind::Reduce:
      case CollectiveKind::ReduceScatter:
        values[i] = sum;
        break;
      case CollectiveKind::AllGather:
        for (std::size_t r = 0; r < ranks; ++r)
          if (i >= piece_range(c.elements, ranks, r).begin) values[i] = initial(r, i);
        break;
      case CollectiveKind::AllToAll:
        values[i] = initial(i / part, rank * part + i % part);
        break;
      case CollectiveKind::Broadcast:
        values[i] = initial(0, i);
        break;
      case CollectiveKind::Shift:
        values[i] = initial((rank + ranks - 1) % ranks, i);
        break;
    }
  }
  return values;
}

// The elements that the definition speaks of at this rank.
inline PieceRange defined(const CollectiveCase& c, std::size_t ranks, std::size_t rank) {
  if (c.kind == CollectiveKind::ReduceScatter) return piece_range(c.elements, ranks, rank);
  if (c.kind == CollectiveKind::Reduce && rank > 0) return {0, 0};
  return {0, c.elements};
}

inline void expect_collective(Transport& transport, const CollectiveCase& c) {
  const std::size_t ranks = transport.ranks(), rank = transport.rank();
  std::vector<float> data(c.elements, -1), result(c.elements, -1);
  const PieceRange own = piece_range(c.elements, ranks, rank);
  const bool gathers = c.kind == CollectiveKind::AllGather;
  for (std::size_t i = 0; i < c.elements; ++i)
    if (!gathers || (own.begin <= i && i < own.end)) data[i] = initial(rank, i);
  const bool apart = c.kind == CollectiveKind::AllToAll || c.kind == CollectiveKind::Shift;
  CollectiveCall call{.kind = c.kind, .algorithm = c.algorithm, .members = everyone(transport)};
  call.data = reinterpret_cast<std::byte*>(data.data());
  call.result = apart ? reinterpret_cast<std::byte*>(result.data()) : nullptr;
  call.elements = c.elements;
  complete(transport, *make_operation(call, transport));
  const std::vector<float> want = expected(c, ranks, rank);
  const std::vector<float>& got = apart ? result : data;
  const PieceRange range = defined(c, ranks, rank);
  for (std::size_t i = range.begin; i < range.end; ++i)
    ASSERT_EQ(got[i], want[i]) << text(c) << ", rank " << rank << " of " << ranks << ", element " << i;
}

}  // namespace tandem
