// Hooks of checkpoints and heartbeats around each rank, and the report of rank 0.
#include "exec/run/run_ranks.h"

#include <fmt/format.h>
#include <cstdio>
#include <thread>

#include "core/cli/report.h"
#include "core/units/text.h"
#include "exec/cpu/cores.h"
#include "exec/mpi/mpi_ranks.h"
#include "exec/run/conductor.h"
#include "exec/run/continued_source.h"
#include "exec/run/heartbeat.h"
#include "exec/run/local_place.h"
#include "exec/run/rank_checkpoint.h"
#include "exec/run/run_threads.h"

namespace tandem {
namespace {

class Ranks {
 public:
  Ranks(RunContext& context, const RunCase& run, const RanksOptions& options)
      : context_(context),
        run_(run),
        watched_by_(options.watched_by),
        source_(*run.source, run.first_step()),
        setup_{run.scenario.model,    run.prepared.model, run.prepared.plan,          run.graph, source_,
               run.options.optimizer, run.options.seed,   run.options.balance_experts} {}

  int as_threads() {
    check_machine(run_.ranks());
    heartbeat_.emplace(watched_by_, 0, static_cast<std::uint32_t>(run_.ranks()), machine_name());
    Conductor conductor(run_, 1, calls(), context_.surroundings.messages_are_terminal);
    conductor.note("ranks", fmt::format("{} threads of one process, {} computing for each", run_.ranks(),
                                        threads(run_.ranks())));
    try {
      run_threads(
          setup_, conductor,
          [&](RankId rank) {
            return rank_options({.place = rank.value, .ranks = static_cast<std::uint32_t>(run_.ranks())});
          },
          run_.options.pace);
    } catch (const std::exception& error) {
      conductor.fail(error.what());
      throw;
    }
    return report(conductor);
  }

  // A failure of one rank reaches the others only through MPI's own end.
  int as_mpi() {
    const std::unique_ptr<MpiRanks> mpi = join_mpi(nullptr, nullptr);
    int code = exit_fault;
    try {
      return run_mpi(*mpi);
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) fmt::print(stderr, "{}\n", text(problem));
      code = exit_input;
    } catch (const BackendError& error) {
      fmt::print(stderr, "tandem: rank {} on {}: {}\n", mpi->rank(), mpi->machine(), error.what());
      code = exit_surroundings;
    } catch (const std::exception& error) {
      fmt::print(stderr, "tandem: internal fault, please report: {}\n", error.what());
    }
    std::fflush(stderr);
    if (heartbeat_) heartbeat_->failed();
    mpi->abort(code);
    return code;
  }

 private:
  int run_mpi(MpiRanks& mpi) {
    if (mpi.ranks() != run_.ranks()) {
      if (mpi.rank() == 0)
        fmt::print(stderr, "the plan has {} ranks, and {} were started\n", run_.ranks(), mpi.ranks());
      return exit_input;  // of all ranks, which see the same
    }
    heartbeat_.emplace(watched_by_, mpi.rank(), 1, mpi.machine());
    const std::unique_ptr<Transport> control = mpi.transport();
    std::unique_ptr<Transport> lanes = mpi.transport();
    Control say(*control);
    const LocalPlace place = local_place(say, mpi.machine());
    if (run_.options.pace) {
      if (place.machines > 1) refuse({}, "--pace needs all ranks on one machine, whose clock they share");
      lanes = paced(std::move(lanes), *run_.options.pace);
    }
    check_machine(place.ranks);
    std::optional<Conductor> conductor;
    if (mpi.rank() == 0) conductor.emplace(run_, run_.ranks(), calls(), false);
    if (conductor)
      conductor->note("ranks", fmt::format("{} processes of MPI on {} machines, {} threads computing for each",
                                           run_.ranks(), place.machines, threads(place.ranks)));
    try {
      run_rank(setup_, *lanes, *control, conductor ? &*conductor : nullptr, rank_options(place));
    } catch (const std::exception& error) {
      if (conductor) conductor->fail(error.what());
      throw;
    }
    const int code = conductor ? report(*conductor) : 0;
    heartbeat_->done();
    // To mpirun any other code than 0 is a failure; who watches knows of the interruption.
    return watched_by_.empty() ? code : 0;
  }

  Conductor::Calls calls() {
    Conductor::Calls calls{.interrupted = [this] { return context_.interrupted(); }};
    if (!run_.options.checkpoints.empty())
      calls.publish = [this](std::int64_t steps) {
        publish_checkpoint(run_.options.checkpoints, checkpoint_meta(run_, steps),
                           static_cast<std::uint32_t>(run_.ranks()));
        keep_last_checkpoints(run_.options.checkpoints, static_cast<std::size_t>(run_.options.keep));
      };
    return calls;
  }

  int threads(std::size_t ranks_here) const {
    if (run_.options.threads_per_rank > 0) return run_.options.threads_per_rank;
    return std::max(1, cores() / static_cast<int>(ranks_here));
  }
  static int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

  // What would not end in a message but in the end of some process.
  void check_machine(std::size_t ranks_here) const {
    std::size_t largest = 0;
    for (std::uint32_t stage = 0; stage < run_.prepared.plan.mesh.size(Axis::Pipeline); ++stage) {
      const RankId rank = run_.graph.mesh.member(Axis::Pipeline, 0, stage);
      const DataFlow flow = bind_values(run_.prepared.model, run_.prepared.plan, run_.graph, stage);
      largest = std::max(largest, plan_arena(flow, run_.graph.program(rank)).size);
    }
    const Bytes wanted(static_cast<double>(largest * ranks_here));
    const Bytes there(static_cast<double>(available_bytes()));
    if (there.value > 0 && wanted > there)
      refuse({},
             fmt::format("{} ranks need up to {} of memory, and this machine has {} left", ranks_here,
                         text(wanted), text(there)),
             "a smaller model or batch, or a plan that splits more, needs less");
    check_cores(ranks_here);
  }

  void check_cores(std::size_t ranks_here) const {
    const int wanted = static_cast<int>(ranks_here) * threads(ranks_here);
    if (run_.options.bind_cores == BindCores::Always && wanted > cores())
      refuse({},
             fmt::format("--bind-cores always: {} ranks x {} threads have no core each on a machine with {}",
                         ranks_here, threads(ranks_here), cores()));
  }

  RankOptions rank_options(const LocalPlace& place) {
    RankOptions own{.first_step = run_.first_step(),
                    .steps = run_.own_steps(),
                    .threads = threads(place.ranks),
                    .exchanges = run_.exchanges,
                    .align_clocks = place.machines > 1};
    if (run_.options.bind_cores != BindCores::Never)
      own.core = own_cores(place.place, place.ranks, own.threads);
    if (run_.resumed) own.load = [this](RankState& state) { load_rank(state); };
    if (!run_.options.checkpoints.empty()) own.save = [this](RankState& state) { save_rank(state); };
    own.program_ready = [this](RankState& state, const RankProgram& program) {
      heartbeat_->follow(state, program);
    };
    own.step_took = [this](Nanoseconds time) { heartbeat_->step_took(time); };
    own.before_end = [this] { heartbeat_->forget(); };
    return own;
  }

  void load_rank(RankState& state) {
    CheckpointReader reader(run_.checkpoint_folder);
    load(state, reader);
  }
  void save_rank(RankState& state) {
    heartbeat_->pause();
    CheckpointWriter writer(run_.options.checkpoints, state.step + 1, state.rank().value);
    save(state, writer);
    writer.finish_rank();
    heartbeat_->go_on();
  }

  int report(Conductor& conductor) {
    const RunRecord record = conductor.finish();
    if (run_.options.json) {
      context_.out.add(summary_json(record));
    } else {
      write_report(record, {.remarks = !run_.options.quiet}, context_.out);
      context_.out.line(fmt::format("record  {}", run_.options.record));
    }
    context_.out.flush();
    heartbeat_->done();
    return conductor.was_interrupted() ? exit_interrupted : 0;
  }

  RunContext& context_;
  const RunCase& run_;
  std::string watched_by_;
  ContinuedSource source_;
  RunSetup setup_;
  std::optional<Heartbeat> heartbeat_;
};

}  // namespace

int run_ranks(RunContext& context, const RunCase& run, const RanksOptions& options) {
  Ranks ranks(context, run, options);
  return options.is_mpi ? ranks.as_mpi() : ranks.as_threads();
}

}  // namespace tandem
