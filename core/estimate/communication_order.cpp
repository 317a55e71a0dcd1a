// Vector clocks: for each task, the last task of each lane that is surely done before it starts.
#include "core/estimate/communication_order.h"

#include <algorithm>
#include <array>

namespace tandem {
namespace {

// By lane: one more than the index of the task, 0: none.
using Clock = std::array<std::uint32_t, lane_count>;

std::vector<Clock> clocks_of(const Program& program) {
  std::vector<Clock> clocks(program.tasks.size(), Clock{});
  std::array<std::uint32_t, lane_count> last{};
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const auto learn = [&](std::uint32_t done) {
      for (std::size_t lane = 0; lane < lane_count; ++lane)
        clocks[t][lane] = std::max(clocks[t][lane], clocks[done][lane]);
      std::uint32_t& own = clocks[t][static_cast<std::size_t>(program.tasks[done].lane)];
      own = std::max(own, done + 1);
    };
    std::uint32_t& before = last[static_cast<std::size_t>(program.tasks[t].lane)];
    if (before > 0) learn(before - 1);
    for (std::uint32_t w : program.waits_for(t)) learn(w);
    before = t + 1;
  }
  return clocks;
}

struct Kind {
  std::vector<std::uint32_t> tasks;  // ascending
  Lane lane = Lane::Compute;
  bool one_lane = true;
};

std::vector<Kind> kinds_of(const TaskGraph& graph, const Program& program, const Communications& list) {
  std::vector<Kind> kinds(list.axes.size() + list.sends.size() + list.receives.size());
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const Work& work = graph.works[program.tasks[t].work];
    std::size_t kind = 0;
    if (const auto* collective = std::get_if<Collective>(&work)) {
      kind = index_of(list, collective->axis);
    } else if (const auto* send = std::get_if<Send>(&work)) {
      kind = list.axes.size() + index_of(list.sends, send->axis, send->peer);
    } else if (const auto* receive = std::get_if<Receive>(&work)) {
      kind = list.axes.size() + list.sends.size() + index_of(list.receives, receive->axis, receive->peer);
    } else {
      continue;
    }
    const Lane lane = program.tasks[t].lane;
    if (kinds[kind].tasks.empty()) kinds[kind].lane = lane;
    kinds[kind].one_lane = kinds[kind].one_lane && kinds[kind].lane == lane;
    kinds[kind].tasks.push_back(t);
  }
  return kinds;
}

// Each a must find the b after those it knows to be done waiting for it.
bool all_ordered(const std::vector<Clock>& clocks, const Kind& a, const Kind& b) {
  if (!a.one_lane || !b.one_lane) return false;
  if (a.lane == b.lane) return true;
  auto next = b.tasks.begin();
  for (std::uint32_t t : a.tasks) {
    const std::uint32_t known = clocks[t][static_cast<std::size_t>(b.lane)];
    while (next != b.tasks.end() && *next < known) ++next;
    if (next == b.tasks.end()) return true;
    if (clocks[*next][static_cast<std::size_t>(a.lane)] <= t) return false;
  }
  return true;
}

}  // namespace

CommunicationOrder::CommunicationOrder(const TaskGraph& graph, const Program& program,
                                       const Communications& list) {
  const std::vector<Kind> kinds = kinds_of(graph, program, list);
  const std::vector<Clock> clocks = clocks_of(program);
  kinds_ = static_cast<std::uint32_t>(kinds.size());
  ordered_.assign(std::size_t{kinds_} * kinds_, false);
  for (std::uint32_t a = 0; a < kinds_; ++a) {
    for (std::uint32_t b = 0; b <= a; ++b) {
      ordered_[a * kinds_ + b] = ordered_[b * kinds_ + a] = all_ordered(clocks, kinds[a], kinds[b]);
    }
  }
}

}  // namespace tandem
