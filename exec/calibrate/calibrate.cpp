// What is measured, in which order, and how the file says where it comes from.
#include "exec/calibrate/calibrate.h"

#include <fmt/format.h>

#include <ctime>
#include <thread>

#include "core/cli/prediction.h"
#include "core/cost/calibration.h"
#include "core/lower/lower.h"
#include "core/record/atomic_file.h"
#include "core/units/text.h"
#include "exec/calibrate/communication.h"
#include "exec/calibrate/computation.h"
#include "exec/calibrate/sweep.h"
#include "exec/check_executable.h"
#include "exec/training/make_token_source.h"

namespace tandem {
namespace {

int machine_cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

class Calibrator {
 public:
  explicit Calibrator(RunContext& run)
      : run_(run), progress_(run.surroundings.messages_are_terminal && !run.arguments.has("--quiet")) {
    slices_ = static_cast<int>(run.arguments.number("--slices", 1, 1000).value_or(5));
    threads_ = static_cast<int>(run.arguments.number("--threads-per-rank", 1, machine_cores()).value_or(0));
    if (const std::string pace = run.arguments.value("--pace"); !pace.empty()) {
      communication_.pace = parse_pace(pace);
      if (!communication_.pace)
        refuse({}, fmt::format("--pace {}: a bandwidth and a delay are wanted", pace), "as 10GB/s,5us");
      if (!has_scenario()) refuse({}, "--pace needs a scenario", "name the one that will run at this pace");
    }
  }

  int calibrate() {
    const bool finished = has_scenario() ? scenario() : sweep();
    progress_.clear();
    if (!finished) return exit_interrupted;
    write();
    return 0;
  }

 private:
  bool has_scenario() const { return !run_.arguments.operands.empty() || run_.arguments.has_model; }

  bool scenario() {
    const Scenario scenario = scenario_of(run_.arguments, read_library(run_.scenarios));
    const Prepared prepared = prepare(scenario);
    device_ = prepared.cluster.kinds().front().id;
    share_cores(prepared.plan.mesh.ranks());
    const TaskGraph graph = lower(prepared.model, prepared.plan);
    if (!computations(scenario.model, prepared.model, prepared.plan, graph, 0, 0.9)) return false;
    communication_share_ = measure_communication(graph, device_, communication_, profile_);
    return true;
  }

  bool sweep() {
    share_cores(static_cast<std::size_t>(machine_cores()));
    const auto ranks = static_cast<std::int64_t>(at_once_);
    const std::vector<SweepCase> cases = calibration_sweep(ranks);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const ModelGraph model = build_model(cases[i].spec);
      const Plan plan = resolve_plan(cases[i].plan, cases[i].spec, model, {ranks, ranks});
      const TaskGraph graph = lower(model, plan);
      const double share = 0.8 / static_cast<double>(cases.size());
      if (!computations(cases[i].spec, model, plan, graph, share * static_cast<double>(i), share)) return false;
    }
    return communications();
  }

  // Groups as large as the machine, and twice as large, where copying competes with itself.
  bool communications() {
    std::vector<std::size_t> groups = {2};
    while (groups.back() < 2 * at_once_ && groups.back() < 8) groups.push_back(2 * groups.back());
    for (const Bytes size : swept_sizes()) {
      if (!show("messages", 0.9)) return false;
      profile_.add(device_, {.work = MeasuredWork::Message}, shape_of(size),
                   message_time(size, communication_));
      for (const std::size_t members : groups)
        for (int k = 0; k <= static_cast<int>(CollectiveKind::Shift); ++k)
          collectives(CollectiveKind(k), members, size);
    }
    return true;
  }
  void collectives(CollectiveKind kind, std::size_t members, Bytes size) {
    std::vector<Algorithm> algorithms = {carried_by(kind, Algorithm::Auto)};
    for (const Algorithm other : {Algorithm::Tree, Algorithm::HalvingDoubling})
      if (carried_by(kind, other) == other) algorithms.push_back(other);
    for (const Algorithm algorithm : algorithms)
      profile_.add(device_, kind_of(Collective{.kind = kind, .size = size}, algorithm, members), shape_of(size),
                   collective_time(kind, algorithm, members, size, communication_));
  }

  bool computations(const ModelSpec& spec, const ModelGraph& model, const Plan& plan, const TaskGraph& graph,
                    double done, double share) {
    Problems problems;
    for (const Problem& problem : check_executable(spec, model, plan)) problems.add(problem);
    problems.throw_if_any();
    const std::unique_ptr<TokenSource> tokens = make_token_source(model, plan, {});
    const RunSetup setup{spec, model, plan, graph, *tokens, {}, 0, true};
    const ComputationResult result = measure_computation(
        setup,
        {.threads = threads_,
         .at_once = at_once_,
         .slices = slices_,
         .device = device_,
         .progress = [&](double part) { return show("computations", done + share * part); }},
        profile_);
    rejected_ += result.rejected;
    reference_ = result.reference;
    jitter_ = std::max(jitter_, result.jitter);
    return !result.stopped;
  }

  void share_cores(std::size_t ranks) {
    const auto own =
        std::max<std::size_t>(1, static_cast<std::size_t>(machine_cores()) / std::max<std::size_t>(1, ranks));
    if (threads_ == 0) threads_ = static_cast<int>(own);
    at_once_ = std::max<std::size_t>(1, std::min(ranks, static_cast<std::size_t>(machine_cores() / threads_)));
  }
  bool show(std::string_view what, double share) {
    progress_.show(what, share);
    return !run_.interrupted();
  }

  std::string source() const {
    const std::time_t now = std::time(nullptr);
    std::tm date{};
    gmtime_r(&now, &date);
    return fmt::format(
        "tandem calibrate {:04}-{:02}-{:02}: {} cores, {} ranks of {} threads side by side, means of {} "
        "slices ({} disturbed ones left out), jitter {:.1f} %, reference product at {}",
        date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, machine_cores(), at_once_, threads_, slices_,
        rejected_, 100 * jitter_, text(reference_));
  }

  void write() {
    CoresRow cores{.device = device_,
                   .count = machine_cores(),
                   .threads = threads_,
                   .communication = communication_share_,
                   .jitter = jitter_,
                   .from = {}};
    cores.from.source = source();
    const std::vector<ProfileRow> rows = profile_.rows(source());
    const std::string file = run_.arguments.value("--output");
    write_file(file, [&](std::ostream& out) { out << to_toml({cores}, rows); });
    run_.out.line(fmt::format("{} times in {} tables in {}", profile_.shapes(), rows.size(), file));
    run_.out.line(source());
  }

  RunContext& run_;
  Progress progress_;
  ProfileBuilder profile_;
  std::string device_ = "cpu-core";
  int slices_ = 5, threads_ = 0, rejected_ = 0;
  std::size_t at_once_ = 1;
  ComputeRate reference_;
  CommunicationOptions communication_;
  double communication_share_ = 1, jitter_ = 0;
};

}  // namespace

int calibrate_machine(RunContext& run) { return Calibrator(run).calibrate(); }

}  // namespace tandem
