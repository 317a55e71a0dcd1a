// Refines colours of ranks, channels and links in turn until no class splits any more.
#include "core/estimate/fold.h"

#include <array>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "core/estimate/mix.h"

namespace tandem {
namespace {

using Colours = std::vector<std::uint64_t>;

// Numbers the distinct values of `colours` from 0 in the order in which they appear.
std::uint32_t number(const Colours& colours, std::vector<std::uint32_t>* class_of) {
  const std::size_t slots = std::bit_ceil(2 * colours.size() + 2);
  std::vector<std::uint32_t> table(slots, no_class);  // first index with this colour
  std::vector<std::uint32_t> names;
  if (class_of) {
    names.resize(colours.size());
    class_of->resize(colours.size());
  }
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < colours.size(); ++i) {
    std::size_t at = colours[i] & (slots - 1);
    while (table[at] != no_class && colours[table[at]] != colours[i]) at = (at + 1) & (slots - 1);
    if (table[at] == no_class) {
      table[at] = i;
      if (class_of) names[i] = count;
      ++count;
    }
    if (class_of) (*class_of)[i] = names[table[at]];
  }
  return count;
}

class Refinement {
 public:
  Refinement(const TaskGraph& graph, const CostSource& costs, const Traffic& traffic, FoldStart start)
      : graph_(graph), costs_(costs), traffic_(traffic) {
    index_links();
    colour_ranks(start);
    colour_channels();
    collect_neighbours();
  }

  Classes run() {
    for (std::array<std::uint32_t, 3> before{}, now = counts(); now != before;) {
      refine_channels();
      refine_links();
      refine_ranks();
      before = now;
      now = counts();
    }
    Classes classes;
    std::vector<std::uint32_t> of_dense_link;
    classes.ranks = number(ranks_, &classes.of_rank);
    classes.channels = number(channels_, &classes.of_channel);
    classes.links = number(links_, &of_dense_link);
    classes.of_link.assign(costs_.link_count(), no_class);
    for (std::size_t l = 0; l < link_ids_.size(); ++l) classes.of_link[link_ids_[l].value] = of_dense_link[l];
    return classes;
  }

 private:
  std::array<std::uint32_t, 3> counts() const {
    return {number(ranks_, nullptr), number(channels_, nullptr), number(links_, nullptr)};
  }

  // Only the links that flows use take part.
  void index_links() {
    std::vector<std::uint32_t> dense(costs_.link_count(), no_class);
    dense_links_.reserve(traffic_.links.size());
    for (LinkId link : traffic_.links) {
      if (dense[link.value] == no_class) {
        dense[link.value] = static_cast<std::uint32_t>(link_ids_.size());
        link_ids_.push_back(link);
        links_.push_back(std::bit_cast<std::uint64_t>(costs_.capacity(link).value));
      }
      dense_links_.push_back(dense[link.value]);
    }
  }

  void colour_ranks(FoldStart start) {
    ranks_.resize(graph_.program_of.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const DeviceId device(graph_.device_of[r]);
      std::uint64_t colour = mix(graph_.program_of[r].value, costs_.device_key(device));
      colour = mix_number(colour, costs_.slowdown(device));
      if (start == FoldStart::TensorGroups)
        colour = mix(colour, graph_.mesh.place(RankId(r), Axis::Tensor).group);
      ranks_[r] = colour;
    }
  }

  void colour_channels() {
    for (const Channel& channel : traffic_.channels) {
      std::uint64_t colour =
          mix(channel.signature, static_cast<std::uint64_t>(channel.axis) * 2 + channel.collective);
      for_each_part(channel, [&](const TrafficPart& part) { colour = mix(colour, rounded(part.share)); });
      channels_.push_back(colour);
    }
  }

  // Shares that differ by rounding only get one colour (nearly always: a boundary may fall between them, which
  // splits classes and costs time, not truth).
  static std::uint64_t rounded(double share) {
    return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(share)));
  }

  template <class Visit>
  void for_each_part(const Channel& channel, Visit visit) const {
    const std::uint32_t end = traffic_.pattern_parts[channel.pattern_end];
    for (std::uint32_t p = traffic_.pattern_parts[channel.pattern_begin]; p < end; ++p)
      visit(traffic_.parts[p]);
  }

  // The channels of each rank, in its program's order: groups, sends, receives.
  void collect_neighbours() {
    channels_begin_.push_back(0);
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      const Communications& mine = traffic_.communications[graph_.program_of[r].value];
      for (const AxisUse& use : mine.axes) {
        channels_of_.push_back(traffic_.group_channel(use.axis, graph_.mesh.place(RankId(r), use.axis).group));
      }
      for (std::uint32_t s = 0; s < mine.sends.size(); ++s)
        channels_of_.push_back(traffic_.route_channel(RankId(r), s));
      for (const PeerUse& use : mine.receives) {
        const GroupPlace me = graph_.mesh.place(RankId(r), use.axis);
        const RankId sender = graph_.mesh.member(use.axis, me.group, use.peer);
        const std::vector<PeerUse>& sends =
            traffic_.communications[graph_.program_of[sender.value].value].sends;
        channels_of_.push_back(traffic_.route_channel(sender, index_of(sends, use.axis, me.place)));
      }
      channels_begin_.push_back(static_cast<std::uint32_t>(channels_of_.size()));
    }
    for (const Channel& channel : traffic_.channels) {
      members_begin_.push_back(static_cast<std::uint32_t>(members_.size()));
      if (!channel.collective) continue;
      for (std::uint32_t place = 0; place < graph_.mesh.size(channel.axis); ++place) {
        members_.push_back(graph_.mesh.member(channel.axis, channel.group, place).value);
      }
    }
    members_begin_.push_back(static_cast<std::uint32_t>(members_.size()));
  }

  // Members and links as multisets: sums of well-mixed words do not depend on their order.
  void refine_channels() {
    for (std::uint32_t c = 0; c < channels_.size(); ++c) {
      const Channel& channel = traffic_.channels[c];
      std::uint64_t colour = channels_[c];
      if (channel.collective) {
        std::uint64_t sum = 0;
        for (std::uint32_t m = members_begin_[c]; m < members_begin_[c + 1]; ++m)
          sum += mix(ranks_[members_[m]]);
        colour = mix(colour, sum);
      } else {
        colour = mix(mix(colour, ranks_[channel.sender.value]), ranks_[channel.receiver.value]);
      }
      for_each_part(channel, [&](const TrafficPart& part) {
        std::uint64_t sum = 0;
        for (std::uint32_t l = part.link_begin; l < part.link_end; ++l) sum += mix(links_[dense_links_[l]]);
        colour = mix(colour, sum);
      });
      channels_[c] = colour;
    }
  }

  void refine_links() {
    sums_.assign(links_.size(), 0);
    for (std::uint32_t c = 0; c < channels_.size(); ++c) {
      std::uint64_t place = 0;
      for_each_part(traffic_.channels[c], [&](const TrafficPart& part) {
        const std::uint64_t word = mix(channels_[c], place++);
        for (std::uint32_t l = part.link_begin; l < part.link_end; ++l) sums_[dense_links_[l]] += word;
      });
    }
    for (std::size_t l = 0; l < links_.size(); ++l) links_[l] = mix(links_[l], sums_[l]);
  }

  void refine_ranks() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      std::uint64_t colour = ranks_[r];
      for (std::uint32_t i = channels_begin_[r]; i < channels_begin_[r + 1]; ++i)
        colour = mix(colour, channels_[channels_of_[i]]);
      ranks_[r] = colour;
    }
  }

  const TaskGraph& graph_;
  const CostSource& costs_;
  const Traffic& traffic_;
  Colours ranks_, channels_, links_, sums_;
  std::vector<LinkId> link_ids_;                             // by dense link
  std::vector<std::uint32_t> dense_links_;                   // as Traffic::links
  std::vector<std::uint32_t> channels_of_, channels_begin_;  // of each rank
  std::vector<std::uint32_t> members_, members_begin_;       // of each channel
};

}  // namespace

Classes fold(const TaskGraph& graph, const CostSource& costs, const Traffic& traffic, FoldStart start) {
  return Refinement(graph, costs, traffic, start).run();
}

}  // namespace tandem
