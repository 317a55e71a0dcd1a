// What a player plays: one rank, group, route and link of each class, with who meets whom and which flows load
// which links.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/estimate/compiled_program.h"
#include "core/estimate/traffic.h"

namespace tandem {

constexpr std::uint32_t no_class = std::numeric_limits<std::uint32_t>::max();

// Classes of ranks, channels and links that behave alike, dense from 0. Identity classes play every device.
struct Classes {
  std::vector<std::uint32_t> of_rank, of_channel, of_link;  // of_link: no_class for links that carry nothing
  std::uint32_t ranks = 0, channels = 0, links = 0;
};

struct RankClass {
  RankId representative;
  std::uint32_t size = 1;     // ranks that behave as this one
  std::uint32_t program = 0;  // in PlayGraph::programs
  double slowdown = 1;
  std::uint32_t machine = no_class;  // in PlayGraph::machines, whose cores it shares; no_class: none
  std::uint32_t group_begin = 0;     // in PlayGraph::group_of: a channel class an axis of the program
  std::uint32_t send_begin = 0;      // in PlayGraph::peers: one a send, then one a receive of the program
  std::uint32_t receive_begin = 0;
};

// The other end of a rank class's messages.
struct PeerClass {
  std::uint32_t rank = 0;     // class
  std::uint32_t channel = 0;  // class
  std::uint32_t pairing = 0;  // in PlayGraph::pairings
};

// Flow of one part over link classes; a weight counts equal flows of the class that cross one link, after
// division by the link's own common factor.
struct WeightedLink {
  std::uint32_t link = 0;  // class
  std::uint32_t weight = 1;
};
struct PlayPart {
  double share = 0;
  std::uint32_t link_begin = 0, link_end = 0;
};

struct ChannelClass {
  std::uint32_t size = 1;                          // groups or routes that behave as this one
  std::uint32_t member_begin = 0, member_end = 0;  // collectives: rank classes that must arrive
  std::uint32_t entry_begin = 0, entry_end = 0;    // in PlayGraph::entries
  std::uint32_t pattern_begin = 0;                 // in PlayGraph::pattern_parts
};

struct LinkClass {
  LinkId representative;
  std::uint32_t size = 1;
  double capacity = 0;  // B/s, divided by the common factor of the weights
};

struct PlayGraph {
  std::vector<SharedCores> machines;  // nodes whose devices are cores; their ranks are classes of one
  std::vector<CompiledProgram> programs;
  std::vector<RankClass> ranks;
  std::vector<ChannelClass> channels;
  std::vector<LinkClass> links;
  std::vector<std::uint32_t> group_of;
  std::vector<PeerClass> peers;
  std::vector<std::uint32_t> members;
  std::vector<ChannelEntry> entries;  // pattern == no_pattern: a timed operation
  std::vector<std::uint32_t> pattern_parts;
  std::vector<PlayPart> parts;
  std::vector<WeightedLink> part_links;
  // By task of one program: the task of the other program that carries the same message.
  std::vector<std::vector<std::uint32_t>> pairings;
  std::uint32_t largest_weight = 1;
};

struct PlayGraphOptions {
  bool stragglers = true;  // apply CostSource::straggler_factor
  bool join = false;       // join runs of tasks that nothing else can touch
};

// Representatives are the first of each class.
PlayGraph build_play_graph(const TaskGraph&, const CostSource&, const Traffic&, const Classes&,
                           const PlayGraphOptions&);

// Every rank, channel and link its own class.
Classes identity_classes(const TaskGraph&, const Traffic&, const CostSource&);

}  // namespace tandem
