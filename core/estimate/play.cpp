// Finds traffic and classes, builds the play graph, and completes a player's result.
#include "core/estimate/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/estimate/fold.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// A weight repeats a link in a SimGrid route, whose start costs the square of its length.
constexpr std::uint32_t kMostWeight = 64;

void check_options(const TaskGraph& tasks, const PlayOptions& options) {
  Problems problems;
  if (!(options.jitter >= 0) || !std::isfinite(options.jitter)) {
    problems.add({}, fmt::format("jitter {} is not a share of a task's time", options.jitter),
                 "use 0.01 for one percent");
  }
  for (RankId rank : options.recorded) {
    if (rank.value < tasks.program_of.size()) continue;
    problems.add({}, fmt::format("recorded rank {} does not exist", rank.value),
                 fmt::format("ranks run from 0 to {}", tasks.program_of.size() - 1));
  }
  problems.throw_if_any();
}

// The first rank of each pipeline stage.
std::vector<RankId> one_a_stage(const TaskGraph& tasks) {
  std::map<std::uint32_t, RankId> first;
  for (std::uint32_t r = 0; r < tasks.program_of.size(); ++r)
    first.emplace(tasks.mesh.stage(RankId(r)), RankId(r));
  std::vector<RankId> result;
  for (const auto& [stage, rank] : first) result.push_back(rank);
  return result;
}

// From the coarsest folding that the options allow down to none, until no weight is too large for a route.
void fold_as_far_as_possible(const TaskGraph& tasks, const CostSource& costs, const PlayOptions& options,
                             Preparation& result) {
  const bool share_cores = std::ranges::any_of(
      tasks.device_of, [&](std::uint32_t d) { return costs.shared_cores(DeviceId(d)).has_value(); });
  if (share_cores) {  // each rank slows the others of its machine down
    result.classes = identity_classes(tasks, result.traffic, costs);
    result.graph =
        build_play_graph(tasks, costs, result.traffic, result.classes, {.stragglers = options.jitter == 0});
    return;
  }
  const bool folded = options.fidelity != Fidelity::Full && options.fidelity != Fidelity::Replicas;
  // The straggler factor stands for the spread that jitter draws. Joined runs keep every time; the two levels
  // that others are held against go without.
  const PlayGraphOptions build{.stragglers = options.jitter == 0, .join = folded && options.jitter == 0};
  if (folded && options.jitter > 0)
    result.remark = "jitter keeps replicas apart: only tensor-parallel peers are folded";
  if (folded && options.jitter == 0) {
    result.classes = fold(tasks, costs, result.traffic, FoldStart::Alike);
    result.graph = build_play_graph(tasks, costs, result.traffic, result.classes, build);
    if (result.graph.largest_weight <= kMostWeight) return;
    result.remark = fmt::format(
        "a link carries {} times as many equal flows of one kind as of another: replicas are kept apart",
        result.graph.largest_weight);
  }
  if (options.fidelity != Fidelity::Full) {
    result.classes = fold(tasks, costs, result.traffic, FoldStart::TensorGroups);
    result.graph = build_play_graph(tasks, costs, result.traffic, result.classes, build);
    if (result.graph.largest_weight <= kMostWeight) return;
    result.remark =
        fmt::format("a link carries {} times as many equal flows of one kind as of another: nothing is folded",
                    result.graph.largest_weight);
  }
  result.classes = identity_classes(tasks, result.traffic, costs);
  result.graph = build_play_graph(tasks, costs, result.traffic, result.classes, build);
}

}  // namespace

Preparation prepare(const TaskGraph& tasks, const CostSource& costs, const PlayOptions& options) {
  check_options(tasks, options);
  Preparation result;
  result.options = {
      .jitter = options.jitter, .seed = options.seed, .recorded = {}, .progress = options.progress};
  if (options.record_times)
    result.options.recorded = options.recorded.empty() ? one_a_stage(tasks) : options.recorded;
  const bool contention = options.fidelity != Fidelity::Estimate;
  result.traffic = find_traffic(tasks, costs, contention);
  if (contention) {
    result.carried = carried_bytes(result.traffic, costs.link_count());
    drop_private_links(tasks, costs, result.traffic);
  }
  fold_as_far_as_possible(tasks, costs, options, result);
  return result;
}

Playback finish(Player& player, const Preparation& preparation, const CostSource& costs,
                const PlayOptions& options) {
  player.check_finished();
  Playback playback = player.result();
  playback.fidelity = options.fidelity;
  playback.remark = preparation.remark;
  // Links of equal capacity that carried equally much are one entry.
  std::map<std::pair<double, double>, std::size_t> known;
  for (std::uint32_t link = 0; link < preparation.carried.size(); ++link) {
    if (preparation.carried[link] <= 0) continue;
    const double bytes = preparation.carried[link];
    const auto [entry, fresh] =
        known.try_emplace({bytes, costs.capacity(LinkId(link)).value}, playback.links.size());
    if (fresh) {
      playback.links.push_back({LinkId(link), 1, Bytes(bytes)});
    } else {
      ++playback.links[entry->second].multiplicity;
    }
  }
  return playback;
}

}  // namespace tandem
