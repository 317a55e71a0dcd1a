// Names of collectives and algorithms, and the factor between algorithm and bus bandwidth.
#include "core/collective/collective.h"

#include <array>
#include <bit>

namespace tandem {
namespace {

constexpr std::array<std::string_view, 7> kind_names = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "shift"};
constexpr std::array<std::string_view, 7> algorithm_names = {
    "auto", "ring", "tree", "halving_doubling", "hierarchical", "nvls", "pairwise"};

template <class Enum, std::size_t n>
std::optional<Enum> find(const std::array<std::string_view, n>& names, std::string_view text) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name(CollectiveKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }
std::string_view name(Algorithm algorithm) { return algorithm_names[static_cast<std::size_t>(algorithm)]; }

std::optional<CollectiveKind> parse_collective_kind(std::string_view text) {
  if (text == "alltoall") return CollectiveKind::AllToAll;  // nccl-tests' spelling
  return find<CollectiveKind>(kind_names, text);
}
std::optional<Algorithm> parse_algorithm(std::string_view text) {
  return find<Algorithm>(algorithm_names, text);
}

double bus_factor(CollectiveKind kind, std::size_t ranks) {
  if (ranks <= 1) return 0;
  const double n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      return (n - 1) / n;
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce:
    case CollectiveKind::Shift:
      return 1;
  }
  return 1;
}

Algorithm carried_by(CollectiveKind kind, Algorithm algorithm) {
  if (kind == CollectiveKind::AllToAll) return Algorithm::Pairwise;
  if (kind == CollectiveKind::Shift) return Algorithm::Ring;
  const bool rooted = kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
  switch (algorithm) {
    case Algorithm::Auto:
    case Algorithm::Nvls:
    case Algorithm::Ring:
      return Algorithm::Ring;
    case Algorithm::Tree:
      return Algorithm::Tree;
    case Algorithm::HalvingDoubling:
    case Algorithm::Hierarchical:
      return rooted ? Algorithm::Tree : algorithm;
    case Algorithm::Pairwise:
      return rooted ? Algorithm::Ring : algorithm;
  }
  return Algorithm::Ring;
}

std::size_t pieces(CollectiveKind kind, Algorithm algorithm, std::size_t ranks) {
  if (ranks <= 1 || kind == CollectiveKind::Shift) return 1;
  const Algorithm by = carried_by(kind, algorithm);
  const bool whole =
      kind == CollectiveKind::AllReduce || kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
  if (whole && by == Algorithm::Tree) return 1;
  // Ranks beyond the largest power of two hand their buffer to a partner and take no part in the halving.
  if (whole && by == Algorithm::HalvingDoubling) return std::bit_floor(ranks);
  return ranks;
}

}  // namespace tandem
