// Walks the groups and the sender-receiver pairs that programs use; equal shapes are costed once.
#include "core/estimate/traffic.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/estimate/mix.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// Shares nearer than this (relative) differ by rounding only.
constexpr double kSameShare = 1e-9;

class Walk {
 public:
  Walk(const TaskGraph& graph, const CostSource& costs, bool links)
      : graph_(graph), costs_(costs), with_links_(links) {}

  Traffic run() {
    for (const Program& program : graph_.programs)
      traffic_.communications.push_back(communications_of(graph_, program));
    traffic_.pattern_parts.push_back(0);
    for (std::size_t a = 0; a < static_cast<std::size_t>(Axis::Count); ++a) visit_axis(static_cast<Axis>(a));
    traffic_.first_route.reserve(graph_.program_of.size() + 1);
    for (std::uint32_t r = 0; r < graph_.program_of.size(); ++r) visit_sends(RankId(r));
    traffic_.first_route.push_back(static_cast<std::uint32_t>(traffic_.channels.size()));
    return std::move(traffic_);
  }

 private:
  const Communications& communications(RankId rank) const {
    return traffic_.communications[graph_.program_of[rank.value].value];
  }
  DeviceId device(RankId rank) const { return DeviceId(graph_.device_of[rank.value]); }

  void visit_axis(Axis axis) {
    traffic_.first_group[static_cast<std::size_t>(axis)] = static_cast<std::uint32_t>(traffic_.channels.size());
    const bool used =
        std::any_of(traffic_.communications.begin(), traffic_.communications.end(), [&](const auto& c) {
          return std::any_of(c.axes.begin(), c.axes.end(),
                             [&](const AxisUse& use) { return use.axis == axis; });
        });
    if (!used) return;
    const std::size_t size = graph_.mesh.size(axis);
    for (std::uint32_t group = 0; group < graph_.mesh.group_count(axis); ++group) {
      members_.clear();
      for (std::uint32_t place = 0; place < size; ++place) {
        members_.push_back(device(graph_.mesh.member(axis, group, place)));
      }
      Channel& channel = begin_channel();
      channel.axis = axis;
      channel.group = group;
      // All members that use the axis meet equal works: the first of them speaks.
      for (std::uint32_t place = 0; place < size && channel_is_empty(); ++place) {
        for (const AxisUse& use : communications(graph_.mesh.member(axis, group, place)).axes) {
          if (use.axis == axis) add_collectives(use);
        }
      }
      end_channel();
    }
  }

  void add_collectives(const AxisUse& use) {
    const std::uint64_t shape = costs_.shape(members_);
    patterns_.clear();
    for (std::size_t i = 0; i < use.works.size(); ++i) {
      const auto& work = std::get<Collective>(graph_.works[use.works[i]]);
      const auto [cached, fresh] = cost_cache_.try_emplace(mix(shape, use.works[i].value));
      if (fresh) cached->second = costs_.collective(work, members_);
      const CommunicationCost& cost = cached->second;
      std::uint32_t pattern = no_pattern;
      if (with_links_) {
        const auto same = std::find_if(patterns_.begin(), patterns_.end(), [&](const Known& known) {
          return known.kind == work.kind && known.algorithm == cost.algorithm;
        });
        if (same != patterns_.end()) {
          pattern = same->pattern;
        } else {
          pattern = add_pattern(costs_.loads(work, cost.algorithm, members_));
          patterns_.push_back({work.kind, cost.algorithm, pattern});
        }
      }
      add_entry(cost, work.size, pattern, use.counts[i]);
    }
  }

  void visit_sends(RankId sender) {
    traffic_.first_route.push_back(static_cast<std::uint32_t>(traffic_.channels.size()));
    for (const PeerUse& use : communications(sender).sends) {
      const RankId receiver = graph_.mesh.member(use.axis, graph_.mesh.place(sender, use.axis).group, use.peer);
      Channel& channel = begin_channel();
      channel.collective = false;
      channel.axis = use.axis;
      channel.sender = sender;
      channel.receiver = receiver;
      const std::array<DeviceId, 2> ends = {device(sender), device(receiver)};
      const std::uint64_t shape = costs_.shape(ends);
      const std::uint32_t pattern = with_links_ ? add_pattern(costs_.loads(ends[0], ends[1])) : no_pattern;
      for (std::size_t i = 0; i < use.sizes.size(); ++i) {
        const auto [cached, fresh] =
            cost_cache_.try_emplace(mix(mix_number(shape, use.sizes[i].value), ~std::uint64_t{0}));
        if (fresh) cached->second = costs_.message(use.sizes[i], ends[0], ends[1]);
        add_entry(cached->second, use.sizes[i], pattern, use.counts[i]);
      }
      end_channel();
    }
  }

  Channel& begin_channel() {
    Channel& channel = traffic_.channels.emplace_back();
    channel.entry_begin = static_cast<std::uint32_t>(traffic_.entries.size());
    channel.pattern_begin = static_cast<std::uint32_t>(traffic_.pattern_parts.size()) - 1;
    return channel;
  }

  bool channel_is_empty() const { return traffic_.channels.back().entry_begin == traffic_.entries.size(); }

  void end_channel() {
    Channel& channel = traffic_.channels.back();
    channel.entry_end = static_cast<std::uint32_t>(traffic_.entries.size());
    channel.pattern_end = static_cast<std::uint32_t>(traffic_.pattern_parts.size()) - 1;
    std::uint64_t signature = mix(channel.entry_end - channel.entry_begin);
    for (std::uint32_t e = channel.entry_begin; e < channel.entry_end; ++e) {
      const ChannelEntry& entry = traffic_.entries[e];
      signature = mix_number(mix_number(mix_number(signature, entry.total), entry.delay), entry.bytes);
      signature = mix(mix(mix_number(signature, entry.host), entry.pattern), entry.count);
    }
    channel.signature = signature;
  }

  // Cuts the links into parts of equal share; a pattern that the channel has already is found again.
  std::uint32_t add_pattern(std::vector<LinkLoad> loads) {
    std::erase_if(loads, [](const LinkLoad& load) { return !(load.share > 0); });
    if (loads.empty()) return no_pattern;
    std::sort(loads.begin(), loads.end(), [](const LinkLoad& a, const LinkLoad& b) {
      return a.share != b.share ? a.share < b.share : a.link < b.link;
    });
    const auto first_part = static_cast<std::uint32_t>(traffic_.parts.size());
    const auto first_link = static_cast<std::uint32_t>(traffic_.links.size());
    for (const LinkLoad& load : loads) {
      if (traffic_.parts.size() == first_part || load.share > traffic_.parts.back().share * (1 + kSameShare)) {
        const auto begin = static_cast<std::uint32_t>(traffic_.links.size());
        traffic_.parts.push_back({load.share, 0, begin, begin});
      }
      TrafficPart& part = traffic_.parts.back();
      const double capacity = costs_.capacity(load.link).value;
      check(capacity > 0, "links have a capacity");
      traffic_.links.push_back(load.link);
      ++part.link_end;
      part.slowest = std::max(part.slowest, part.share / capacity);
    }
    const std::uint32_t pattern_begin = traffic_.channels.back().pattern_begin;
    const auto pattern = static_cast<std::uint32_t>(traffic_.pattern_parts.size()) - 1;
    for (std::uint32_t other = pattern_begin; other < pattern; ++other) {
      if (!equal_parts(traffic_.pattern_parts[other], traffic_.pattern_parts[other + 1], first_part)) continue;
      traffic_.parts.resize(first_part);
      traffic_.links.resize(first_link);
      return other - pattern_begin;
    }
    traffic_.pattern_parts.push_back(static_cast<std::uint32_t>(traffic_.parts.size()));
    return pattern - pattern_begin;
  }

  bool equal_parts(std::uint32_t begin, std::uint32_t end, std::uint32_t other) const {
    if (end - begin != traffic_.parts.size() - other) return false;
    for (std::uint32_t p = begin; p < end; ++p) {
      const TrafficPart &a = traffic_.parts[p], &b = traffic_.parts[other + (p - begin)];
      if (std::abs(a.share - b.share) > kSameShare * a.share) return false;
      if (!std::ranges::equal(traffic_.part_links(a), traffic_.part_links(b))) return false;
    }
    return true;
  }

  // Seconds on the fullest link when alone.
  double wire_time(std::uint32_t pattern, Bytes size) const {
    double wire = 0;
    const std::uint32_t p = traffic_.channels.back().pattern_begin + pattern;
    for (std::uint32_t i = traffic_.pattern_parts[p]; i < traffic_.pattern_parts[p + 1]; ++i) {
      wire = std::max(wire, traffic_.parts[i].slowest * size.value);
    }
    return wire;
  }

  void add_entry(const CommunicationCost& cost, Bytes size, std::uint32_t pattern, std::uint32_t count) {
    const double total = cost.latency.value + cost.transfer.value;
    check(total >= 0 && std::isfinite(total), "a communication's cost is a time");
    ChannelEntry entry{.total = total,
                       .delay = total,
                       .size = size.value,
                       .bytes = size.value,
                       .pattern = no_pattern,
                       .count = count,
                       .host = cost.host.value};
    const double wire = pattern == no_pattern ? 0 : wire_time(pattern, size);
    if (wire > 0) {
      entry.pattern = pattern;
      // The cost model has the last word on the time alone: links that would need longer move fewer bytes.
      const double moved = std::min(wire, total);
      entry.bytes = size.value * (moved / wire);
      entry.delay = total - moved;
    }
    traffic_.entries.push_back(entry);
  }

  struct Known {
    CollectiveKind kind;
    Algorithm algorithm;
    std::uint32_t pattern;
  };

  const TaskGraph& graph_;
  const CostSource& costs_;
  const bool with_links_;
  Traffic traffic_;
  std::vector<DeviceId> members_;
  std::vector<Known> patterns_;
  std::unordered_map<std::uint64_t, CommunicationCost> cost_cache_;
};

}  // namespace

Traffic find_traffic(const TaskGraph& graph, const CostSource& costs, bool links) {
  return Walk(graph, costs, links).run();
}

}  // namespace tandem
