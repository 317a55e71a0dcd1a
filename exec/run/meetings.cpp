// Numbers all meetings of a graph, and finds the latest comer of each.
#include "exec/run/meetings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>

#include "core/problem/problem.h"

namespace tandem {
namespace {

constexpr std::uint32_t no_meeting = std::numeric_limits<std::uint32_t>::max();

// Members meet collectives of an axis in one order, so that the n-th is the same one on all of them; a
// message's number is unique in its group.
struct MeetingKey {
  bool message = false;
  Axis axis = Axis::Tensor;
  std::uint32_t group = 0, number = 0;
  auto operator<=>(const MeetingKey&) const = default;
};

class KeysOfRank {
 public:
  KeysOfRank(const Mesh& mesh, RankId rank) : mesh_(mesh), rank_(rank) {}

  std::optional<MeetingKey> key(const Task& task, const Work& work) {
    if (const auto* collective = std::get_if<Collective>(&work)) {
      const Axis axis = collective->axis;
      return MeetingKey{false, axis, group(axis), met_[static_cast<std::size_t>(axis)]++};
    }
    if (const auto* send = std::get_if<Send>(&work))
      return MeetingKey{true, send->axis, group(send->axis), task.message};
    if (const auto* receive = std::get_if<Receive>(&work))
      return MeetingKey{true, receive->axis, group(receive->axis), task.message};
    return std::nullopt;
  }

 private:
  std::uint32_t group(Axis axis) const { return mesh_.place(rank_, axis).group; }

  const Mesh& mesh_;
  RankId rank_;
  std::array<std::uint32_t, static_cast<std::size_t>(Axis::Count)> met_{};
};

}  // namespace

Meetings::Meetings(const TaskGraph& graph) {
  std::map<MeetingKey, std::uint32_t> numbers;
  for (std::uint32_t r = 0; r < graph.program_of.size(); ++r) {
    KeysOfRank keys(graph.mesh, RankId(r));
    std::vector<std::uint32_t>& own = meeting_.emplace_back();
    for (const Task& task : graph.program(RankId(r)).tasks) {
      const std::optional<MeetingKey> key = keys.key(task, graph.works[task.work]);
      own.push_back(key ? numbers.try_emplace(*key, numbers.size()).first->second : no_meeting);
    }
  }
  count_ = static_cast<std::uint32_t>(numbers.size());
}

void Meetings::align(std::vector<RankReport>& ranks, std::vector<std::vector<bool>>& held) const {
  check(ranks.size() == meeting_.size(), "a report of every rank");
  std::vector<Nanoseconds> latest(count_, std::numeric_limits<Nanoseconds>::min());
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t t = 0; t < meeting_[r].size(); ++t)
      if (const std::uint32_t m = meeting_[r][t]; m != no_meeting)
        latest[m] = std::max(latest[m], ranks[r].tasks[t].start);
  held.resize(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    held[r].assign(meeting_[r].size(), false);
    for (std::size_t t = 0; t < meeting_[r].size(); ++t) {
      const std::uint32_t m = meeting_[r][t];
      if (m == no_meeting) continue;
      CommunicationTimes& times = ranks[r].tasks[t];
      held[r][t] = latest[m] > times.start;
      times.start = std::min(latest[m], times.end);
    }
  }
}

}  // namespace tandem
