// Finds the links that only one communication can use at a time, so that it need not be a flow.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "core/estimate/communication_order.h"
#include "core/estimate/traffic.h"

namespace tandem {
namespace {

constexpr std::size_t kUsersRemembered = 8;
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

// Whether two channels can communicate at the same time.
class Exclusion {
 public:
  Exclusion(const TaskGraph& graph, const Traffic& traffic)
      : graph_(graph), traffic_(traffic), orders_(graph.programs.size()) {}

  // A rank that takes part in both, and orders them, keeps them apart; of a channel with itself: its own tasks.
  bool apart(std::uint32_t a, std::uint32_t b) {
    if (ranks_of(a) > ranks_of(b)) std::swap(a, b);
    const auto members = static_cast<std::uint32_t>(ranks_of(a));
    for (std::uint32_t i = 0; i < members; ++i) {
      const RankId rank = rank_of(a, i);
      const std::uint32_t kind_a = kind_of(a, rank), kind_b = kind_of(b, rank);
      if (kind_a != kNobody && kind_b != kNobody && order(rank).ordered(kind_a, kind_b)) return true;
    }
    return false;
  }

 private:
  std::size_t ranks_of(std::uint32_t c) const {
    const Channel& channel = traffic_.channels[c];
    return channel.collective ? graph_.mesh.size(channel.axis) : 2;
  }
  RankId rank_of(std::uint32_t c, std::uint32_t i) const {
    const Channel& channel = traffic_.channels[c];
    if (channel.collective) return graph_.mesh.member(channel.axis, channel.group, i);
    return i == 0 ? channel.sender : channel.receiver;
  }
  const Communications& communications(RankId rank) const {
    return traffic_.communications[graph_.program_of[rank.value].value];
  }
  // Number of the channel among the kinds of the rank's program; kNobody: the rank takes no part.
  std::uint32_t kind_of(std::uint32_t c, RankId rank) const {
    const Channel& channel = traffic_.channels[c];
    const Communications& mine = communications(rank);
    const auto axes = static_cast<std::uint32_t>(mine.axes.size()),
               sends = static_cast<std::uint32_t>(mine.sends.size());
    if (channel.collective) {
      if (graph_.mesh.place(rank, channel.axis).group != channel.group) return kNobody;
      for (std::uint32_t axis = 0; axis < axes; ++axis) {
        if (mine.axes[axis].axis == channel.axis) return axis;
      }
      return kNobody;
    }
    if (rank == channel.sender) return axes + (c - traffic_.first_route[rank.value]);
    if (rank != channel.receiver) return kNobody;
    return axes + sends +
           index_of(mine.receives, channel.axis, graph_.mesh.place(channel.sender, channel.axis).place);
  }
  const CommunicationOrder& order(RankId rank) {
    const ProgramId program = graph_.program_of[rank.value];
    std::optional<CommunicationOrder>& known = orders_[program.value];
    if (!known) known.emplace(graph_, graph_.programs[program], traffic_.communications[program.value]);
    return *known;
  }

  const TaskGraph& graph_;
  const Traffic& traffic_;
  std::vector<std::optional<CommunicationOrder>> orders_;
};

template <class Visit>
void for_each_part(const Traffic& traffic, const Channel& channel, Visit visit) {
  const std::uint32_t end = traffic.pattern_parts[channel.pattern_end];
  for (std::uint32_t p = traffic.pattern_parts[channel.pattern_begin]; p < end; ++p) visit(traffic.parts[p]);
}

// For each link its users, and which of them may meet another one there.
class LinkUsers {
 public:
  LinkUsers(const TaskGraph& graph, const Traffic& traffic, std::size_t link_count)
      : exclusion_(graph, traffic), users_(link_count) {
    for (std::uint32_t c = 0; c < traffic.channels.size(); ++c) {
      const Channel& channel = traffic.channels[c];
      const bool links =
          traffic.pattern_parts[channel.pattern_begin] != traffic.pattern_parts[channel.pattern_end];
      const bool meets_itself = links && !channel.collective && !exclusion_.apart(c, c);
      for_each_part(traffic, channel, [&](const TrafficPart& part) {
        for (LinkId link : traffic.part_links(part)) add(users_[link.value], c, meets_itself);
      });
    }
  }

  bool shared(LinkId link, std::uint32_t channel) const {
    const Users& users = users_[link.value];
    for (std::uint8_t u = 0; u < users.count; ++u) {
      if (users.channels[u] == channel) return users.crowded || (users.shared >> u & 1u) != 0;
    }
    return true;  // one of a crowd
  }

 private:
  struct Users {
    std::array<std::uint32_t, kUsersRemembered> channels{};
    std::uint8_t count = 0, shared = 0;  // a bit each
    bool crowded = false;                // more than are remembered: all share
  };

  void add(Users& users, std::uint32_t c, bool meets_itself) {
    if (users.crowded || (users.count > 0 && users.channels[users.count - 1u] == c)) return;
    if (users.count == kUsersRemembered) {
      users.crowded = true;
      return;
    }
    const auto mine = static_cast<std::uint8_t>(1u << users.count);
    if (meets_itself) users.shared |= mine;
    for (std::uint8_t u = 0; u < users.count; ++u) {
      if (!apart(users.channels[u], c)) users.shared |= static_cast<std::uint8_t>(mine | (1u << u));
    }
    users.channels[users.count++] = c;
  }

  // Neighbouring links mostly have the same users.
  bool apart(std::uint32_t a, std::uint32_t b) {
    std::uint64_t& slot = asked_[(a * 31u + b) % asked_.size()];
    const std::uint64_t key = (std::uint64_t{a} << 32 | b) << 1;
    if ((slot & ~std::uint64_t{1}) != key) slot = key | (exclusion_.apart(a, b) ? 1 : 0);
    return (slot & 1) != 0;
  }

  Exclusion exclusion_;
  std::vector<Users> users_;
  std::array<std::uint64_t, 64> asked_{};  // (a, b, answer); a < b, so that no key is 0
};

// The shared links of a part; of the others the slowest, if it is slower than those and may therefore hold the
// flow back. Returns whether any is shared.
bool keep_links(const CostSource& costs, const LinkUsers& users, std::uint32_t channel, const Traffic& traffic,
                const TrafficPart& part, std::vector<LinkId>& kept) {
  constexpr double none = std::numeric_limits<double>::infinity();
  LinkId slowest;
  double own = none, shared = none;
  for (LinkId link : traffic.part_links(part)) {
    const double capacity = costs.capacity(link).value;
    if (users.shared(link, channel)) {
      kept.push_back(link);
      shared = std::min(shared, capacity);
    } else if (capacity < own) {
      slowest = link;
      own = capacity;
    }
  }
  if (own < shared) kept.push_back(slowest);
  return shared < none;
}

}  // namespace

std::vector<double> carried_bytes(const Traffic& traffic, std::size_t link_count) {
  std::vector<double> carried(link_count, 0);
  for (const Channel& channel : traffic.channels) {
    for (std::uint32_t pattern = channel.pattern_begin; pattern < channel.pattern_end; ++pattern) {
      double bytes = 0;
      for (std::uint32_t e = channel.entry_begin; e < channel.entry_end; ++e) {
        const ChannelEntry& entry = traffic.entries[e];
        if (entry.pattern == pattern - channel.pattern_begin) bytes += entry.size * entry.count;
      }
      for (std::uint32_t p = traffic.pattern_parts[pattern]; p < traffic.pattern_parts[pattern + 1]; ++p) {
        const TrafficPart& part = traffic.parts[p];
        for (LinkId link : traffic.part_links(part)) carried[link.value] += part.share * bytes;
      }
    }
  }
  return carried;
}

void drop_private_links(const TaskGraph& graph, const CostSource& costs, Traffic& traffic) {
  const LinkUsers users(graph, traffic, costs.link_count());
  std::vector<LinkId> links;
  std::vector<TrafficPart> parts;
  std::vector<std::uint32_t> pattern_parts = {0};
  for (std::uint32_t c = 0; c < traffic.channels.size(); ++c) {
    Channel& channel = traffic.channels[c];
    const auto first = static_cast<std::uint32_t>(pattern_parts.size()) - 1;
    std::vector<std::uint32_t> renamed;
    for (std::uint32_t pattern = channel.pattern_begin; pattern < channel.pattern_end; ++pattern) {
      const std::uint32_t begin = traffic.pattern_parts[pattern], end = traffic.pattern_parts[pattern + 1];
      double slowest = 0;  // s per byte, of the parts that share
      bool flows = false;
      for (std::uint32_t p = begin; p < end; ++p) {
        const TrafficPart& part = traffic.parts[p];
        const auto part_links = traffic.part_links(part);
        if (std::ranges::none_of(part_links, [&](LinkId link) { return users.shared(link, c); })) continue;
        flows = true;
        slowest = std::max(slowest, part.slowest);
      }
      renamed.push_back(flows ? static_cast<std::uint32_t>(pattern_parts.size()) - 1 - first : no_pattern);
      if (!flows) continue;
      for (std::uint32_t p = begin; p < end; ++p) {
        TrafficPart part = traffic.parts[p];
        const auto link_begin = static_cast<std::uint32_t>(links.size());
        const bool shares = keep_links(costs, users, c, traffic, part, links);
        if (!shares && part.slowest <= slowest) {  // always over before the others
          links.resize(link_begin);
          continue;
        }
        part.link_begin = link_begin;
        part.link_end = static_cast<std::uint32_t>(links.size());
        parts.push_back(part);
      }
      pattern_parts.push_back(static_cast<std::uint32_t>(parts.size()));
    }
    channel.pattern_begin = first;
    channel.pattern_end = static_cast<std::uint32_t>(pattern_parts.size()) - 1;
    for (std::uint32_t e = channel.entry_begin; e < channel.entry_end; ++e) {
      ChannelEntry& entry = traffic.entries[e];
      if (entry.pattern != no_pattern) entry.pattern = renamed[entry.pattern];
    }
  }
  traffic.links = std::move(links);
  traffic.parts = std::move(parts);
  traffic.pattern_parts = std::move(pattern_parts);
}

}  // namespace tandem
