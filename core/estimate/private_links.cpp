// Finds the links that only one communication can use at a time, so that it need not be a flow.
#include <bit>

#include "core/estimate/traffic.h"

namespace tandem {
namespace {

constexpr std::uint64_t kNobody = ~std::uint64_t{0};
constexpr std::uint64_t kShared = kNobody - 1;

// Channels with one user never communicate at the same time: a group's collectives follow each other on its
// lane, and so do the messages of one lane of a sender.
std::uint64_t user_of(const TaskGraph& graph, const Traffic& traffic, std::uint32_t c) {
  const Channel& channel = traffic.channels[c];
  if (channel.collective) return c;
  const std::uint32_t send = c - traffic.first_route[channel.sender.value];
  const std::uint32_t lanes =
      traffic.communications[graph.program_of[channel.sender.value].value].sends[send].lanes;
  if (!std::has_single_bit(lanes)) return kShared;
  return (std::uint64_t{1} << 40) | (std::uint64_t{channel.sender.value} << 8) |
         static_cast<std::uint64_t>(std::countr_zero(lanes));
}

template <class Visit>
void for_each_part(const Traffic& traffic, const Channel& channel, Visit visit) {
  const std::uint32_t end = traffic.pattern_parts[channel.pattern_end];
  for (std::uint32_t p = traffic.pattern_parts[channel.pattern_begin]; p < end; ++p) visit(traffic.parts[p]);
}

std::vector<bool> shared_links(const TaskGraph& graph, const Traffic& traffic, std::size_t link_count) {
  std::vector<std::uint64_t> user(link_count, kNobody);
  for (std::uint32_t c = 0; c < traffic.channels.size(); ++c) {
    const std::uint64_t me = user_of(graph, traffic, c);
    for_each_part(traffic, traffic.channels[c], [&](const TrafficPart& part) {
      for (LinkId link : traffic.part_links(part)) {
        std::uint64_t& known = user[link.value];
        known = known == kNobody || known == me ? me : kShared;
      }
    });
  }
  std::vector<bool> shared(link_count);
  for (std::size_t link = 0; link < link_count; ++link) shared[link] = user[link] == kShared;
  return shared;
}

// The shared links of a part and the slowest of the others.
void keep_links(const CostSource& costs, const std::vector<bool>& shared, const Traffic& traffic,
                const TrafficPart& part, std::vector<LinkId>& kept) {
  LinkId slowest;
  double capacity = 0;
  for (LinkId link : traffic.part_links(part)) {
    if (shared[link.value]) {
      kept.push_back(link);
    } else if (const double c = costs.capacity(link).value; capacity == 0 || c < capacity) {
      slowest = link;
      capacity = c;
    }
  }
  if (capacity > 0) kept.push_back(slowest);
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
  const std::vector<bool> shared = shared_links(graph, traffic, costs.link_count());
  std::vector<LinkId> links;
  std::vector<TrafficPart> parts;
  std::vector<std::uint32_t> pattern_parts = {0};
  for (Channel& channel : traffic.channels) {
    const auto first = static_cast<std::uint32_t>(pattern_parts.size()) - 1;
    std::vector<std::uint32_t> renamed;
    for (std::uint32_t pattern = channel.pattern_begin; pattern < channel.pattern_end; ++pattern) {
      const std::uint32_t begin = traffic.pattern_parts[pattern], end = traffic.pattern_parts[pattern + 1];
      bool flows = false;
      for (std::uint32_t p = begin; p < end; ++p) {
        for (LinkId link : traffic.part_links(traffic.parts[p])) flows = flows || shared[link.value];
      }
      renamed.push_back(flows ? static_cast<std::uint32_t>(pattern_parts.size()) - 1 - first : no_pattern);
      if (!flows) continue;
      for (std::uint32_t p = begin; p < end; ++p) {
        TrafficPart part = traffic.parts[p];
        const auto link_begin = static_cast<std::uint32_t>(links.size());
        keep_links(costs, shared, traffic, part, links);
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
