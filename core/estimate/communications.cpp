// Collects what a program's tasks say about collectives and messages.
#include "core/estimate/communications.h"

#include <algorithm>
#include <map>

#include "core/problem/problem.h"

namespace tandem {
namespace {

struct PeerUses {
  std::map<std::pair<Axis, std::uint32_t>, std::pair<std::map<Bytes, std::uint32_t>, std::uint32_t>> uses;

  void add(Axis axis, std::uint32_t peer, Bytes size, Lane lane) {
    auto& [sizes, lanes] = uses[{axis, peer}];
    ++sizes[size];
    lanes |= 1u << static_cast<unsigned>(lane);
  }
  std::vector<PeerUse> list() const {
    std::vector<PeerUse> result;
    for (const auto& [key, use] : uses) {
      PeerUse& peer =
          result.emplace_back(PeerUse{.axis = key.first, .peer = key.second, .sizes = {}, .counts = {}});
      peer.lanes = use.second;
      for (const auto& [size, count] : use.first) {
        peer.sizes.push_back(size);
        peer.counts.push_back(count);
      }
    }
    return result;
  }
};

template <class T>
std::uint32_t position(const std::vector<T>& sorted, const T& item) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), item);
  check(found != sorted.end() && *found == item, "a communication is one of its program's");
  return static_cast<std::uint32_t>(found - sorted.begin());
}

}  // namespace

Communications communications_of(const TaskGraph& graph, const Program& program) {
  std::map<Axis, std::map<WorkId, std::uint32_t>> axes;
  PeerUses sends, receives;
  // Works repeat in runs: one look at each distinct work, then counts.
  std::vector<std::uint32_t> seen(graph.works.size(), 0);
  for (const Task& task : program.tasks) {
    const Work& work = graph.works[task.work];
    if (std::holds_alternative<Collective>(work)) {
      ++seen[task.work.value];
    } else if (const auto* send = std::get_if<Send>(&work)) {
      sends.add(send->axis, send->peer, send->size, task.lane);
    } else if (const auto* receive = std::get_if<Receive>(&work)) {
      receives.add(receive->axis, receive->peer, receive->size, task.lane);
    }
  }
  for (std::uint32_t w = 0; w < seen.size(); ++w) {
    if (seen[w] > 0) axes[std::get<Collective>(graph.works[WorkId(w)]).axis][WorkId(w)] = seen[w];
  }
  Communications result;
  for (const auto& [axis, works] : axes) {
    AxisUse& use = result.axes.emplace_back(AxisUse{.axis = axis, .works = {}, .counts = {}});
    for (const auto& [work, count] : works) {
      use.works.push_back(work);
      use.counts.push_back(count);
    }
  }
  result.sends = sends.list();
  result.receives = receives.list();
  return result;
}

std::uint32_t index_of(const Communications& communications, Axis axis) {
  for (std::uint32_t i = 0; i < communications.axes.size(); ++i) {
    if (communications.axes[i].axis == axis) return i;
  }
  check(false, "an axis is one of its program's");
  return 0;
}
std::uint32_t index_of(const std::vector<PeerUse>& peers, Axis axis, std::uint32_t peer) {
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    if (peers[i].axis == axis && peers[i].peer == peer) return i;
  }
  check(false, "a peer is one of its program's");
  return 0;
}
std::uint32_t index_of(const AxisUse& use, WorkId work) { return position(use.works, work); }
std::uint32_t index_of(const PeerUse& use, Bytes size) { return position(use.sizes, size); }

}  // namespace tandem
