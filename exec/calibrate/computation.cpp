// Times the computations of a step, in its order but without its communication.
#include "exec/calibrate/computation.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <thread>

#include "exec/calibrate/reference.h"
#include "exec/cpu/cpu_runtime.h"

namespace tandem {
namespace {

constexpr double most_disturbance = 0.06;

// One rank's memory and computations.
class ComputingRank {
 public:
  ComputingRank(const RunSetup& setup, RankId rank, CpuOptions cpu)
      : state_(setup, rank), device_(cpu_runtime(cpu)), times_(state_.program().tasks.size()) {
    state_.set_memory(device_->allocate(state_.arena_bytes()));
    state_.initialize_parameters();
    const TaskGraph& graph = setup.graph;
    std::map<std::tuple<LabelId, Phase, std::uint32_t>, std::uint32_t> occurrences;
    for (std::uint32_t t = 0; t < times_.size(); ++t) {
      const Task& task = state_.program().tasks[t];
      const Work& work = graph.works[task.work];
      const std::uint32_t occurrence = occurrences[{task.label, task.phase, task.microbatch}]++;
      if (!std::holds_alternative<Compute>(work) && !std::holds_alternative<WaitForInput>(work)) continue;
      const ComputeCall call{.task = t,
                             .subject = graph.subjects[task.label],
                             .phase = task.phase,
                             .microbatch = task.microbatch,
                             .occurrence = occurrence,
                             .operands = state_.flow().of(t)};
      calls_.push_back({.call = device_->prepare(call, state_), .lane = task.lane, .times = &times_[t]});
    }
  }

  void run() {
    state_.step = step_++;
    state_.loss = 0;
    for (const EnqueuedCompute& call : calls_) device_->enqueue(call);
    device_->drain();
    state_.loader().end_step();
  }
  const Program& program() const { return state_.program(); }
  Seconds time(std::uint32_t task) const {
    return Seconds(static_cast<double>(times_[task].end - times_[task].start) * 1e-9);
  }

 private:
  RankState state_;
  std::unique_ptr<DeviceRuntime> device_;
  std::vector<CommunicationTimes> times_;
  std::vector<EnqueuedCompute> calls_;
  std::int64_t step_ = 0;
};

// Ranks side by side: each measures when all do, and waits while the reference is timed.
class Slices {
 public:
  Slices(const RunSetup& setup, const ComputationOptions& options, const std::vector<RankId>& ranks)
      : options_(options) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const int core = options.bind_cores ? static_cast<int>(i) * options.threads : -1;
      products_.push_back(std::make_unique<ReferenceProduct>(options.threads, core));
      ranks_.push_back(std::make_unique<ComputingRank>(setup, ranks[i], CpuOptions{options.threads, core}));
      times_.emplace_back(ranks_.back()->program().tasks.size());
    }
  }

  // False: stopped.
  bool measure(const std::function<bool(double)>& progress) {
    const Nanoseconds begin = now();
    do run_all();
    while (static_cast<double>(now() - begin) * 1e-9 < options_.warm_up.value);
    for (int slice = 0; slice < 2 * options_.slices && kept() < static_cast<std::size_t>(options_.slices);
         ++slice) {
      if (progress && !progress(static_cast<double>(kept()) / options_.slices)) return false;
      references_.push_back(reference_time());
      run_all();
      Seconds total;
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        for (std::uint32_t t = 0; t < times_[r].size(); ++t) {
          times_[r][t].push_back(ranks_[r]->time(t));
          total += times_[r][t].back();
        }
      totals_.push_back(total);
    }
    return true;
  }

  void add_to(ProfileBuilder& profile, const TaskGraph& graph) const {
    const std::vector<std::size_t> good = undisturbed();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::uint32_t t = 0; t < times_[r].size(); ++t) {
        const auto* work = std::get_if<Compute>(&graph.works[ranks_[r]->program().tasks[t].work]);
        if (work == nullptr) continue;
        profile.add(options_.device, kind_of(*work), shape_of(*work), mean_time(r, t, good));
      }
    }
  }

  // Of one computation, such that independent draws for each would let ranks drift apart between two meetings
  // as far as they did. What slows all ranks down alike for a while is not part of it.
  double jitter(const TaskGraph& graph) const {
    const std::vector<std::size_t> good = undisturbed();
    double apart = 0, of_one = 0;
    for (const std::size_t s : good) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        Seconds drift;
        double squares = 0;
        const auto meet = [&] {
          apart += std::abs(drift.value);
          of_one += std::sqrt(squares);
          drift = Seconds(), squares = 0;
        };
        for (std::uint32_t t = 0; t < times_[r].size(); ++t) {
          if (waits_for_others(ranks_[r]->program(), graph, t)) meet();
          const double place = static_cast<double>(t) / static_cast<double>(times_[r].size());
          const Seconds expected = common_slowdown(s, place, good) * mean_time(r, t, good);
          drift += times_[r][t][s] - expected;
          squares += expected.value * expected.value;
        }
        meet();
      }
    }
    if (ranks_.size() < 2 || good.size() < 2 || of_one == 0) return 0;
    // E |x| = sqrt(2 / pi) sigma of a normal x; n slices lie nearer to their own mean, by sqrt(1 - 1 / n).
    const double n = static_cast<double>(good.size());
    return apart / of_one * std::sqrt(std::numbers::pi / 2) / std::sqrt(1 - 1 / n);
  }
  std::size_t kept() const { return undisturbed().size(); }
  std::size_t slices() const { return references_.size(); }
  ComputeRate reference() const { return ReferenceProduct::flops() / median(references_); }

 private:
  void run_all() {
    side_by_side([&](std::size_t r) { ranks_[r]->run(); });
  }
  // On average over the ranks' cores, which are all busy with it.
  Seconds reference_time() {
    std::vector<Seconds> times(products_.size());
    side_by_side([&](std::size_t r) { times[r] = products_[r]->time(); });
    return std::accumulate(times.begin(), times.end(), Seconds()) / static_cast<double>(times.size());
  }
  void side_by_side(const std::function<void(std::size_t)>& work) {
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < ranks_.size(); ++r) threads.emplace_back(work, r);
    for (std::thread& thread : threads) thread.join();
  }
  // Slices in which neither the reference nor the slice was far from its median; all, if none is left.
  std::vector<std::size_t> undisturbed() const {
    std::vector<std::size_t> good, all;
    if (references_.empty()) return good;
    const Seconds reference = median(references_), middle = median(totals_);
    const auto near = [](Seconds time, Seconds usual) {
      return std::abs(time / usual - 1) <= most_disturbance;
    };
    for (std::size_t s = 0; s < references_.size(); ++s) {
      all.push_back(s);
      if (near(references_[s], reference) && near(totals_[s], middle)) good.push_back(s);
    }
    return good.empty() ? all : good;
  }
  Seconds mean_time(std::size_t rank, std::uint32_t task, const std::vector<std::size_t>& slices) const {
    Seconds sum;
    for (const std::size_t s : slices) sum += times_[rank][task][s];
    return sum / static_cast<double>(slices.size());
  }
  // Of all ranks around this place of their programs (0 to 1) in a slice, against what is usual there.
  double common_slowdown(std::size_t slice, double place, const std::vector<std::size_t>& slices) const {
    constexpr std::size_t reach = 16;  // tasks on both sides
    Seconds all, usual;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const std::size_t tasks = times_[r].size(),
                        middle = static_cast<std::size_t>(place * static_cast<double>(tasks));
      for (std::size_t t = middle - std::min(middle, reach); t < std::min(tasks, middle + reach + 1); ++t) {
        all += times_[r][t][slice];
        usual += mean_time(r, static_cast<std::uint32_t>(t), slices);
      }
    }
    return usual.value > 0 ? all / usual : 1;
  }
  // Whether the computation starts after a communication.
  static bool waits_for_others(const Program& program, const TaskGraph& graph, std::uint32_t task) {
    return std::ranges::any_of(program.waits_for(task), [&](std::uint32_t earlier) {
      return !std::holds_alternative<Compute>(graph.works[program.tasks[earlier].work]);
    });
  }

  const ComputationOptions& options_;
  std::vector<std::unique_ptr<ReferenceProduct>> products_;
  std::vector<std::unique_ptr<ComputingRank>> ranks_;
  std::vector<std::vector<std::vector<Seconds>>> times_;  // by rank, task, slice
  std::vector<Seconds> references_, totals_;              // by slice
};

// The first rank of each program.
std::vector<RankId> one_a_program(const TaskGraph& graph) {
  std::vector<RankId> ranks;
  std::vector<bool> known(graph.programs.size(), false);
  for (std::uint32_t r = 0; r < graph.program_of.size(); ++r) {
    if (known[graph.program_of[r].value]) continue;
    known[graph.program_of[r].value] = true;
    ranks.push_back(RankId(r));
  }
  return ranks;
}

void refuse_experts(const RunSetup& setup) {
  if (!setup.model.has_experts()) return;
  check(setup.balance_experts, "without communication, rows of experts are known when they are balanced");
  if (setup.plan.mesh.size(Axis::ExpertTensor) > 1)
    refuse({}, "calibrate: which rows an expert gets over etp depends on communication, which is left out here",
           "run the scenario, then calibrate --from its record");
}

}  // namespace

ComputationResult measure_computation(const RunSetup& setup, const ComputationOptions& options,
                                      ProfileBuilder& profile) {
  refuse_experts(setup);
  const std::vector<RankId> programs = one_a_program(setup.graph);
  const std::size_t at_once =
      std::max<std::size_t>(1, std::min(options.at_once, setup.graph.program_of.size()));
  ComputationResult result;
  for (std::size_t first = 0; first < programs.size() && !result.stopped; first += at_once) {
    std::vector<RankId> ranks;
    for (std::size_t i = 0; i < at_once; ++i) ranks.push_back(programs[(first + i) % programs.size()]);
    Slices slices(setup, options, ranks);
    const auto progress = [&](double share) {
      return !options.progress ||
             options.progress((static_cast<double>(first) + share * static_cast<double>(at_once)) /
                              static_cast<double>(programs.size()));
    };
    result.stopped = !slices.measure(progress);
    if (result.stopped) break;
    slices.add_to(profile, setup.graph);
    result.slices += static_cast<int>(slices.slices());
    result.rejected += static_cast<int>(slices.slices() - slices.kept());
    result.reference = slices.reference();
    result.jitter = std::max(result.jitter, slices.jitter(setup.graph));
  }
  return result;
}

}  // namespace tandem
