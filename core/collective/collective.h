// Collective operations and the algorithms that carry them out, as rounds of transfers between places of a group.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/units/quantity.h"

namespace tandem {

// Sizes follow nccl-tests: all-reduce the buffer; all-gather the whole output; reduce-scatter the whole input;
// all-to-all what one rank sends in total; broadcast and reduce the buffer.
enum class CollectiveKind : std::uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce };
std::string_view name(CollectiveKind);                      // "all_reduce", …
std::optional<CollectiveKind> parse_collective_kind(std::string_view);

enum class Algorithm : std::uint8_t { Auto, Ring, Tree, HalvingDoubling, Hierarchical, Nvls, Pairwise };
std::string_view name(Algorithm);                           // "ring", "tree", …
std::optional<Algorithm> parse_algorithm(std::string_view);

// busbw = algbw * factor: 2(n-1)/n all-reduce; (n-1)/n all-gather, reduce-scatter, all-to-all; 1 otherwise.
double bus_factor(CollectiveKind, std::size_t ranks);

// One message of one round; `share` is its part of the collective's size.
struct Transfer { std::uint32_t from = 0, to = 0; double share = 0; };
// All messages of a round may go at once; the next round starts after it. For executors, exact tests and small studies.
using Round = std::vector<Transfer>;
std::vector<Round> rounds(CollectiveKind, Algorithm, std::size_t ranks, std::size_t ranks_per_node);

// Time with one latency a round and one bandwidth everywhere: the textbook closed forms, derived from the rounds' sizes.
Seconds closed_form(CollectiveKind, Algorithm, std::size_t ranks, Bytes size, Seconds latency, Bandwidth bandwidth);

}  // namespace tandem
