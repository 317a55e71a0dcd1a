// What becomes of the record and of the run when a rank fails.
#include "exec/run/supervise_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "exec/mpi/mpi_ranks.h"
#include "exec/run/mpirun.h"
#include "exec/run/supervisor.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> command(const RunContext& context, const RunCase& run, const Launch& launch,
                                 bool resumes) {
  std::vector<std::string> words = launch.arguments;
  words.front() = launch.program;
  if (resumes && !run.options.resume) words.emplace_back("--resume");
  if (!run.options.mpi) return words;
  // mpirun's ranks write to a terminal of its own, whatever this process writes to.
  if (!context.arguments.has("--color"))
    words.insert(words.end(), {"--color", context.out.coloured() ? "always" : "never"});
  return mpirun_command(run.ranks(), run.options.threads_per_rank, watch_variable, words);
}

// A record whose writer was killed still says that it is running. True: it was complete.
bool end_record(const std::string& path, const std::string& why) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  try {
    RunRecord record = read_record(path);
    if (record.header.state != RunState::Running) return record.header.state == RunState::Finished;
    record.header.state = RunState::Failed;
    record.header.failure = why;
    write_record(record, path);
  } catch (const InputError&) {
    // Not even a head was written.
  }
  return false;
}

// The lowest date where there is no file.
fs::file_time_type written(const std::string& path) {
  std::error_code error;
  const fs::file_time_type when = fs::last_write_time(path, error);
  return error ? fs::file_time_type::min() : when;
}

// The record of an attempt that failed makes room for the next one's.
std::string keep_failed_record(const std::string& path, std::int64_t attempt) {
  const fs::path from(path);
  const fs::path to = from.parent_path() /
                      fmt::format("{}.failed-{}{}", from.stem().string(), attempt, from.extension().string());
  std::error_code error;
  fs::rename(from, to, error);
  return error ? path : to.string();
}

std::string going_on(const std::string& checkpoints) {
  if (checkpoints.empty()) return "";
  if (const auto latest = latest_checkpoint(checkpoints)) return fmt::format("; last checkpoint {}", *latest);
  return "; no checkpoint was complete";
}

void say(const std::string& words) {
  fmt::print(stderr, "tandem: {}\n", words);
  std::fflush(stderr);
}

}  // namespace

int supervise_run(RunContext& context, const RunCase& run, const Launch& launch) {
  if (run.options.mpi && !mpi_is_built()) join_mpi(nullptr, nullptr);  // says what to install
  for (std::int64_t attempt = 0;; ++attempt) {
    const bool resumes = attempt > 0 && latest_checkpoint(run.options.checkpoints).has_value();
    const fs::file_time_type before = written(run.options.record);
    const WatchResult result = watch_ranks({.command = command(context, run, launch, resumes),
                                            .ranks = run.ranks(),
                                            .through_mpirun = run.options.mpi,
                                            .hang_timeout = run.options.hang_timeout,
                                            .interrupted = [&] { return context.interrupted(); }});
    if (result.failure.empty() && result.code == 0) return context.interrupted() ? exit_interrupted : 0;
    const std::string why =
        result.failure.empty() ? fmt::format("ended with code {}", result.code) : result.failure;
    // What lay there before, if anything, is another run's.
    const bool complete =
        written(run.options.record) != before && end_record(run.options.record, why) && !result.failure.empty();
    if (context.interrupted()) return exit_interrupted;
    if (complete)
      throw BackendError(fmt::format("{}, when all was done; {} is complete", why, run.options.record));
    const bool hopeless = result.code == exit_input || result.code == exit_fault;
    const std::string message = why + going_on(run.options.checkpoints);
    if (hopeless || attempt == run.options.restarts) {
      if (result.failure.empty() || result.said) return result.code;
      throw BackendError(message);
    }
    const std::string kept = keep_failed_record(run.options.record, attempt + 1);
    say(fmt::format("{}; starting again, {} of {} (record so far: {})", message, attempt + 1,
                    run.options.restarts, kept));
  }
}

}  // namespace tandem
