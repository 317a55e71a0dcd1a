// Which communications a task graph has: who takes part, what each costs alone, and the bytes it puts on which
// links.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/estimate/communications.h"
#include "core/estimate/cost_source.h"
#include "core/task/task_graph.h"

namespace tandem {

constexpr std::uint32_t no_pattern = std::numeric_limits<std::uint32_t>::max();

// A group of an axis, or a sender with one of its receivers: its communications use the same links.
struct Channel {
  bool collective = true;
  Axis axis = Axis::Tensor;
  std::uint32_t group = 0;                           // collectives: of the axis
  RankId sender, receiver;                           // messages
  std::uint32_t entry_begin = 0, entry_end = 0;      // one an AxisUse::works or PeerUse::sizes
  std::uint32_t pattern_begin = 0, pattern_end = 0;  // distinct distributions of bytes on links
  std::uint64_t signature = 0;                       // equal costs, equal value
};

// One collective or message of a channel. Alone it lasts `total`; shared, it waits `delay` and then moves its
// bytes.
struct ChannelEntry {
  double total = 0, delay = 0;         // s
  double size = 0;                     // B, of the collective or message
  double bytes = 0;                    // B that a flow with a share of 1 moves
  std::uint32_t pattern = no_pattern;  // of the channel, or no_pattern: nothing on links
  std::uint32_t count = 0;             // tasks of a member
  double host = 0;                     // s that the host takes to issue it
};

// A pattern's parts: links that carry equal shares, moved by one flow.
struct TrafficPart {
  double share = 0;    // bytes on each link per byte of size
  double slowest = 0;  // seconds per byte of size on the slowest of the links, alone
  std::uint32_t link_begin = 0, link_end = 0;
};

struct Traffic {
  std::vector<Communications> communications;  // by program
  std::vector<Channel> channels;               // groups by axis, then messages by sender
  std::vector<ChannelEntry> entries;
  std::vector<std::uint32_t> pattern_parts;  // first part of each pattern, and the end
  std::vector<TrafficPart> parts;
  std::vector<LinkId> links;
  std::array<std::uint32_t, static_cast<std::size_t>(Axis::Count)>
      first_group{};                       // channel of the axis' group 0
  std::vector<std::uint32_t> first_route;  // by rank: channel of its send 0

  std::uint32_t group_channel(Axis axis, std::uint32_t group) const {
    return first_group[static_cast<std::size_t>(axis)] + group;
  }
  std::uint32_t route_channel(RankId sender, std::uint32_t send) const {
    return first_route[sender.value] + send;
  }
  std::span<const LinkId> part_links(const TrafficPart& part) const {
    return {links.data() + part.link_begin, links.data() + part.link_end};
  }
};

// With `links` false (nothing is ever shared) patterns stay empty.
Traffic find_traffic(const TaskGraph&, const CostSource&, bool links);

// Bytes that each link carries in the step, by link.
std::vector<double> carried_bytes(const Traffic&, std::size_t link_count);

// Two communications can share a link unless one rank takes part in both and its program orders them. Patterns
// that touch no link that can be shared become timed operations; of links that are nobody else's, a part keeps
// the slowest.
void drop_private_links(const TaskGraph&, const CostSource&, Traffic&);

}  // namespace tandem
