// Builds the play graph of given classes from their representatives.
#include "core/estimate/play_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "core/estimate/join_runs.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// The first element of each class.
std::vector<std::uint32_t> firsts(const std::vector<std::uint32_t>& class_of, std::uint32_t classes) {
  std::vector<std::uint32_t> first(classes, no_class);
  for (std::uint32_t i = 0; i < class_of.size(); ++i) {
    if (class_of[i] != no_class && first[class_of[i]] == no_class) first[class_of[i]] = i;
  }
  return first;
}

class Builder {
 public:
  Builder(const TaskGraph& graph, const CostSource& costs, const Traffic& traffic, const Classes& classes,
          const PlayGraphOptions& options)
      : graph_(graph), costs_(costs), traffic_(traffic), classes_(classes), options_(options) {}

  PlayGraph build() {
    add_ranks();
    add_groups();
    add_channels();
    add_links();
    if (classes_.channels < traffic_.channels.size()) weigh_links();
    add_programs();
    add_peers();
    return std::move(result_);
  }

 private:
  const Communications& communications(RankId rank) const {
    return traffic_.communications[graph_.program_of[rank.value].value];
  }

  void add_ranks() {
    result_.ranks.resize(classes_.ranks);
    const std::vector<std::uint32_t> first = firsts(classes_.of_rank, classes_.ranks);
    for (std::uint32_t c = 0; c < classes_.ranks; ++c) {
      RankClass& rank = result_.ranks[c];
      rank.representative = RankId(first[c]);
      rank.size = 0;
      const DeviceId device(graph_.device_of[first[c]]);
      rank.slowdown = costs_.slowdown(device);
      rank.machine = machine_of(device);
    }
    for (std::uint32_t c : classes_.of_rank) ++result_.ranks[c].size;
  }

  std::uint32_t machine_of(DeviceId device) {
    const std::optional<SharedCores> cores = costs_.shared_cores(device);
    if (!cores) return no_class;
    const auto [known, fresh] = machine_of_node_.try_emplace(costs_.node(device), result_.machines.size());
    if (fresh) result_.machines.push_back(*cores);
    return known->second;
  }

  // Rank classes of one program, device key and issue times share a compiled program; joined, also only those
  // of one slow-down and equal private collectives.
  void add_programs() {
    std::map<std::tuple<ProgramId, std::uint32_t, IssueTimes, double, PrivateCollectives>, std::uint32_t> known;
    for (RankClass& rank : result_.ranks) {
      const ProgramId id = graph_.program_of[rank.representative.value];
      const DeviceId device(graph_.device_of[rank.representative.value]);
      const Communications& mine = communications(rank.representative);
      const IssueTimes issue = issue_times(rank.representative);
      PrivateCollectives collectives;
      for (std::size_t axis = 0; options_.join && axis < mine.axes.size(); ++axis) {
        collectives.push_back(private_collectives(result_.channels[result_.group_of[rank.group_begin + axis]]));
      }
      const auto [entry, fresh] = known.try_emplace(
          {id, costs_.device_key(device), issue, options_.join ? rank.slowdown : 1, collectives},
          result_.programs.size());
      if (fresh) {
        CompiledProgram program = compile(graph_, id, mine, issue, costs_, device, options_.stragglers);
        result_.programs.push_back(options_.join ? join_runs(program, rank.slowdown, collectives)
                                                 : std::move(program));
      }
      rank.program = entry->second;
      if (options_.join) rank.slowdown = 1;  // in the joined durations
    }
  }

  IssueTimes issue_times(RankId rank) const {
    const Communications& mine = communications(rank);
    const auto of_channel = [&](std::uint32_t c, std::size_t entries) {
      check(traffic_.channels[c].entry_end - traffic_.channels[c].entry_begin == entries,
            "all sides of a communication know the same works");
      std::vector<double> hosts;
      for (std::uint32_t e = traffic_.channels[c].entry_begin; e < traffic_.channels[c].entry_end; ++e) {
        hosts.push_back(traffic_.entries[e].host);
      }
      return hosts;
    };
    IssueTimes issue;
    for (const AxisUse& use : mine.axes) {
      issue.collectives.push_back(of_channel(
          traffic_.group_channel(use.axis, graph_.mesh.place(rank, use.axis).group), use.works.size()));
    }
    for (std::uint32_t s = 0; s < mine.sends.size(); ++s) {
      issue.sends.push_back(of_channel(traffic_.route_channel(rank, s), mine.sends[s].sizes.size()));
    }
    for (const PeerUse& use : mine.receives) {
      const GroupPlace me = graph_.mesh.place(rank, use.axis);
      const RankId sender = graph_.mesh.member(use.axis, me.group, use.peer);
      const std::uint32_t send = index_of(communications(sender).sends, use.axis, me.place);
      issue.receives.push_back(of_channel(traffic_.route_channel(sender, send), use.sizes.size()));
    }
    return issue;
  }

  void add_groups() {
    for (RankClass& rank : result_.ranks) {
      rank.group_begin = static_cast<std::uint32_t>(result_.group_of.size());
      for (const AxisUse& use : communications(rank.representative).axes) {
        const std::uint32_t group = graph_.mesh.place(rank.representative, use.axis).group;
        result_.group_of.push_back(classes_.of_channel[traffic_.group_channel(use.axis, group)]);
      }
    }
  }

  std::vector<double> private_collectives(const ChannelClass& channel) const {
    std::vector<double> totals;
    if (channel.member_end - channel.member_begin != 1) return totals;
    for (std::uint32_t e = channel.entry_begin; e < channel.entry_end; ++e) {
      if (result_.entries[e].pattern != no_pattern) return {};
      totals.push_back(result_.entries[e].total);
    }
    return totals;
  }

  void add_peers() {
    for (RankClass& rank : result_.ranks) {
      const Communications& mine = communications(rank.representative);
      rank.send_begin = static_cast<std::uint32_t>(result_.peers.size());
      for (std::uint32_t s = 0; s < mine.sends.size(); ++s) add_peer(rank, mine.sends[s], true, s);
      rank.receive_begin = static_cast<std::uint32_t>(result_.peers.size());
      for (std::uint32_t s = 0; s < mine.receives.size(); ++s) add_peer(rank, mine.receives[s], false, s);
    }
  }

  void add_peer(const RankClass& rank, const PeerUse& use, bool sending, std::uint32_t index) {
    const GroupPlace me = graph_.mesh.place(rank.representative, use.axis);
    const RankId other = graph_.mesh.member(use.axis, me.group, use.peer);
    const std::vector<PeerUse>& other_uses =
        sending ? communications(other).receives : communications(other).sends;
    const std::uint32_t other_index = index_of(other_uses, use.axis, me.place);
    const std::uint32_t route = sending ? traffic_.route_channel(rank.representative, index)
                                        : traffic_.route_channel(other, other_index);
    PeerClass& peer = result_.peers.emplace_back();
    peer.rank = classes_.of_rank[other.value];
    peer.channel = classes_.of_channel[route];
    peer.pairing = pairing(rank.program, result_.ranks[peer.rank].program, sending, index, other_index);
  }

  // Messages of a's send (or receive) to those of b's receive (or send), by a's task.
  std::uint32_t pairing(std::uint32_t a, std::uint32_t b, bool sending, std::uint32_t index,
                        std::uint32_t other_index) {
    const auto [entry, fresh] =
        known_pairings_.try_emplace({a, b, sending, index, other_index}, result_.pairings.size());
    if (!fresh) return entry->second;
    std::map<std::uint32_t, std::uint32_t> task_of_message;
    const auto matches = [&](const PlayedTask& task, bool send, std::uint32_t channel) {
      return task.kind == (send ? PlayKind::Send : PlayKind::Receive) && task.channel == channel;
    };
    const std::vector<PlayedTask>& theirs = result_.programs[b].tasks;
    for (std::uint32_t t = 0; t < theirs.size(); ++t) {
      if (matches(theirs[t], !sending, other_index)) task_of_message[theirs[t].message] = t;
    }
    const std::vector<PlayedTask>& mine = result_.programs[a].tasks;
    std::vector<std::uint32_t>& tasks = result_.pairings.emplace_back(mine.size(), no_task);
    for (std::uint32_t t = 0; t < mine.size(); ++t) {
      if (!matches(mine[t], sending, index)) continue;
      if (const auto found = task_of_message.find(mine[t].message); found != task_of_message.end())
        tasks[t] = found->second;
    }
    return entry->second;
  }

  void add_channels() {
    const std::vector<std::uint32_t> first = firsts(classes_.of_channel, classes_.channels);
    result_.channels.resize(classes_.channels);
    for (ChannelClass& channel : result_.channels) channel.size = 0;
    for (std::uint32_t c : classes_.of_channel) ++result_.channels[c].size;
    result_.pattern_parts.push_back(0);
    for (std::uint32_t c = 0; c < classes_.channels; ++c) {
      const Channel& channel = traffic_.channels[first[c]];
      ChannelClass& result = result_.channels[c];
      add_members(channel, result);
      result.entry_begin = static_cast<std::uint32_t>(result_.entries.size());
      result_.entries.insert(result_.entries.end(), traffic_.entries.begin() + channel.entry_begin,
                             traffic_.entries.begin() + channel.entry_end);
      result.entry_end = static_cast<std::uint32_t>(result_.entries.size());
      result.pattern_begin = static_cast<std::uint32_t>(result_.pattern_parts.size()) - 1;
      for (std::uint32_t p = channel.pattern_begin; p < channel.pattern_end; ++p) {
        for (std::uint32_t i = traffic_.pattern_parts[p]; i < traffic_.pattern_parts[p + 1]; ++i)
          add_part(traffic_.parts[i]);
        result_.pattern_parts.push_back(static_cast<std::uint32_t>(result_.parts.size()));
      }
    }
  }

  void add_members(const Channel& channel, ChannelClass& result) {
    result.member_begin = static_cast<std::uint32_t>(result_.members.size());
    if (channel.collective) {
      const std::size_t size = graph_.mesh.size(channel.axis);
      for (std::uint32_t place = 0; place < size; ++place) {
        result_.members.push_back(
            classes_.of_rank[graph_.mesh.member(channel.axis, channel.group, place).value]);
      }
      const auto begin = result_.members.begin() + result.member_begin;
      std::sort(begin, result_.members.end());
      result_.members.erase(std::unique(begin, result_.members.end()), result_.members.end());
    }
    result.member_end = static_cast<std::uint32_t>(result_.members.size());
  }

  void add_part(const TrafficPart& part) {
    const auto begin = static_cast<std::uint32_t>(result_.part_links.size());
    scratch_.clear();
    for (LinkId link : traffic_.part_links(part)) scratch_.push_back(classes_.of_link[link.value]);
    std::sort(scratch_.begin(), scratch_.end());
    scratch_.erase(std::unique(scratch_.begin(), scratch_.end()), scratch_.end());
    for (std::uint32_t link : scratch_) result_.part_links.push_back({link, 1});
    result_.parts.push_back({part.share, begin, static_cast<std::uint32_t>(result_.part_links.size())});
  }

  void add_links() {
    result_.links.resize(classes_.links);
    for (LinkClass& link : result_.links) link.size = 0;
    for (std::uint32_t l = 0; l < classes_.of_link.size(); ++l) {
      if (classes_.of_link[l] == no_class) continue;
      LinkClass& link = result_.links[classes_.of_link[l]];
      if (link.size++ > 0) continue;
      link.representative = LinkId(l);
      link.capacity = costs_.capacity(LinkId(l)).value;
    }
  }

  // Counts, on the representative of each link class, the equal flows of each part.
  void weigh_links() {
    for (WeightedLink& use : result_.part_links) use.weight = 0;
    for (std::uint32_t c = 0; c < traffic_.channels.size(); ++c) {
      const Channel& channel = traffic_.channels[c];
      const std::uint32_t begin = traffic_.pattern_parts[channel.pattern_begin];
      const std::uint32_t end = traffic_.pattern_parts[channel.pattern_end];
      const std::uint32_t first = result_.pattern_parts[result_.channels[classes_.of_channel[c]].pattern_begin];
      for (std::uint32_t p = begin; p < end; ++p) {
        for (LinkId link : traffic_.part_links(traffic_.parts[p])) {
          const std::uint32_t l = classes_.of_link[link.value];
          if (result_.links[l].representative == link) ++weight_of(result_.parts[first + (p - begin)], l);
        }
      }
    }
    std::vector<std::uint32_t> common(result_.links.size(), 0);
    for (const WeightedLink& use : result_.part_links) {
      check(use.weight > 0, "a link class is used as its representative is");
      common[use.link] = std::gcd(common[use.link], use.weight);
    }
    for (std::size_t l = 0; l < common.size(); ++l) {
      if (common[l] > 1) result_.links[l].capacity /= common[l];
    }
    for (WeightedLink& use : result_.part_links) {
      use.weight /= common[use.link];
      result_.largest_weight = std::max(result_.largest_weight, use.weight);
    }
  }

  std::uint32_t& weight_of(const PlayPart& part, std::uint32_t link) {
    const auto begin = result_.part_links.begin() + part.link_begin,
               end = result_.part_links.begin() + part.link_end;
    const auto found = std::lower_bound(begin, end, link,
                                        [](const WeightedLink& use, std::uint32_t l) { return use.link < l; });
    check(found != end && found->link == link, "equal flows use equal link classes");
    return found->weight;
  }

  const TaskGraph& graph_;
  const CostSource& costs_;
  const Traffic& traffic_;
  const Classes& classes_;
  const PlayGraphOptions& options_;
  std::map<std::uint32_t, std::uint32_t> machine_of_node_;
  PlayGraph result_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool, std::uint32_t, std::uint32_t>, std::uint32_t>
      known_pairings_;
  std::vector<std::uint32_t> scratch_;
};

}  // namespace

PlayGraph build_play_graph(const TaskGraph& graph, const CostSource& costs, const Traffic& traffic,
                           const Classes& classes, const PlayGraphOptions& options) {
  return Builder(graph, costs, traffic, classes, options).build();
}

Classes identity_classes(const TaskGraph& graph, const Traffic& traffic, const CostSource& costs) {
  Classes classes;
  classes.ranks = static_cast<std::uint32_t>(graph.program_of.size());
  classes.channels = static_cast<std::uint32_t>(traffic.channels.size());
  classes.of_rank.resize(classes.ranks);
  classes.of_channel.resize(classes.channels);
  std::iota(classes.of_rank.begin(), classes.of_rank.end(), 0u);
  std::iota(classes.of_channel.begin(), classes.of_channel.end(), 0u);
  classes.of_link.assign(costs.link_count(), no_class);
  for (LinkId link : traffic.links) {
    if (classes.of_link[link.value] == no_class) classes.of_link[link.value] = classes.links++;
  }
  return classes;
}

}  // namespace tandem
