// Speed of the simulator: timed operations in SimGrid's loop against a bare event loop, folding, and whole
// plays of a pipeline on 16,384 devices. Each simulation runs in a child, as SimGrid allows one a process.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "core/estimate/fold.h"
#include "core/estimate/play.h"
#include "sim/simulate_costs.h"
#include "tests/support/graph_builder.h"
#include "tests/support/synthetic_costs.h"

namespace tandem {
namespace {

using testing::pipeline_graph;
using testing::SyntheticCosts;

constexpr std::int64_t kTensor = 8, kStages = 16, kReplicas = 128;

TaskGraph large_graph(std::int64_t replicas, std::uint32_t microbatches = 16) {
  return pipeline_graph({.tp = kTensor,
                         .pp = kStages,
                         .dp = replicas,
                         .microbatches = microbatches,
                         .layers = 88,
                         .buckets = 8,
                         .message_bytes = 16e6});
}
SyntheticCosts large_machine(std::int64_t replicas) {
  return SyntheticCosts({.devices = static_cast<std::uint32_t>(kTensor * kStages * replicas), .overlap = 1.1});
}
PlayOptions at(Fidelity fidelity) {
  PlayOptions options;
  options.fidelity = fidelity;
  return options;
}

// Every compute task of every rank, one after the other on its rank, and nothing else: the least that any
// simulator does.
double bare_loop(const TaskGraph& graph, std::size_t& operations) {
  struct Next {
    double time;
    std::uint32_t rank, task;
    bool operator>(const Next& other) const { return time > other.time; }
  };
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  const auto advance = [&](double now, std::uint32_t rank, std::uint32_t task) {
    const Program& program = graph.program(RankId(rank));
    while (task < program.tasks.size()) {
      if (const auto* compute = std::get_if<Compute>(&graph.works[program.tasks[task].work])) {
        queue.push({now + std::get<MemoryPass>(compute->kernel).elements, rank, task + 1});
        return;
      }
      ++task;
    }
  };
  for (std::uint32_t rank = 0; rank < graph.program_of.size(); ++rank) advance(0, rank, 0);
  double end = 0;
  while (!queue.empty()) {
    const Next next = queue.top();
    queue.pop();
    ++operations;
    end = next.time;
    advance(next.time, next.rank, next.task);
  }
  return end;
}

void BareEventLoop(benchmark::State& state) {
  const TaskGraph graph = large_graph(8);
  std::size_t operations = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bare_loop(graph, operations));
  state.counters["operations/s"] =
      benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}
BENCHMARK(BareEventLoop)->Unit(benchmark::kMillisecond);

// CPU time of the children that ended: what a simulation costs on a machine that others use too.
double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Seconds of SimGrid's loop for each of the bare loop, on the same graph and every device: what all that a bare
// loop leaves out (lanes, edges, rendezvous, messages, shared links, SimGrid itself) costs.
void RatioToTheBareEventLoop(benchmark::State& state) {
  const TaskGraph graph = large_graph(8);
  const SyntheticCosts costs = large_machine(8);
  double bare = 0, simulated = 0;
  for (auto _ : state) {
    std::size_t operations = 0;
    const auto begin = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(bare_loop(graph, operations));
    bare += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double before = children_seconds();
    simulate_in_child(graph, costs, at(Fidelity::Full));
    simulated += children_seconds() - before;
  }
  state.counters["ratio"] = simulated / bare;
}
BENCHMARK(RatioToTheBareEventLoop)->Unit(benchmark::kMillisecond)->Iterations(3);

// Four and sixteen times the microbatches: tasks a second must stay what they are.
void GradientAccumulation(benchmark::State& state) {
  const TaskGraph graph = large_graph(8, static_cast<std::uint32_t>(state.range(0)));
  const SyntheticCosts costs = large_machine(8);
  double tasks = 0;
  for (auto _ : state) {
    const double before = children_seconds();
    tasks += static_cast<double>(simulate_in_child(graph, costs, at(Fidelity::Full)).tasks_played);
    state.SetIterationTime(children_seconds() - before);
  }
  state.counters["tasks/s"] = benchmark::Counter(tasks, benchmark::Counter::kIsRate);
}
BENCHMARK(GradientAccumulation)
    ->Arg(16)
    ->Arg(64)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(1);

void play(benchmark::State& state, Fidelity fidelity, std::int64_t replicas) {
  const TaskGraph graph = large_graph(replicas);
  const SyntheticCosts costs = large_machine(replicas);
  double operations = 0, tasks = 0;
  for (auto _ : state) {
    const double before = children_seconds();
    const Playback playback = simulate_in_child(graph, costs, at(fidelity));
    state.SetIterationTime(children_seconds() - before);
    operations += static_cast<double>(playback.timed_played);
    tasks += static_cast<double>(playback.tasks_played);
  }
  state.counters["operations/s"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
  state.counters["tasks/s"] = benchmark::Counter(tasks, benchmark::Counter::kIsRate);
}
void TimedOperationsInSimGrid(benchmark::State& state) { play(state, Fidelity::Full, 8); }
BENCHMARK(TimedOperationsInSimGrid)->Unit(benchmark::kMillisecond)->UseManualTime();
void Folded16384(benchmark::State& state) { play(state, Fidelity::Folded, kReplicas); }
BENCHMARK(Folded16384)->Unit(benchmark::kMillisecond)->UseManualTime();
void Fused16384(benchmark::State& state) { play(state, Fidelity::Fused, kReplicas); }
BENCHMARK(Fused16384)->Unit(benchmark::kMillisecond)->UseManualTime();
void Full16384(benchmark::State& state) { play(state, Fidelity::Full, kReplicas); }
BENCHMARK(Full16384)->Unit(benchmark::kSecond)->UseManualTime()->Iterations(1);

void Fold16384(benchmark::State& state) {
  const TaskGraph graph = large_graph(kReplicas);
  const SyntheticCosts costs = large_machine(kReplicas);
  Traffic traffic = find_traffic(graph, costs, true);
  drop_private_links(graph, costs, traffic);
  for (auto _ : state) benchmark::DoNotOptimize(fold(graph, costs, traffic, FoldStart::Alike));
}
BENCHMARK(Fold16384)->Unit(benchmark::kMillisecond);

void Estimate16384(benchmark::State& state) {
  const TaskGraph graph = large_graph(kReplicas);
  const SyntheticCosts costs = large_machine(kReplicas);
  for (auto _ : state) benchmark::DoNotOptimize(estimate(graph, costs, PlayOptions{}));
}
BENCHMARK(Estimate16384)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem
