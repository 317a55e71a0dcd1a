// The part that this process plays: watching the ranks, or being one or all of them.
#include "exec/run/run.h"

#include <fmt/format.h>

#include "exec/run/run_ranks.h"
#include "exec/run/supervise_run.h"

namespace tandem {
namespace {

// Nobody watches ranks that mpirun or srun started.
void refuse_watching(const Arguments& arguments) {
  Problems problems;
  for (const char* option : {"--restarts", "--hang-timeout", "--threads"})
    if (arguments.has(option))
      problems.add({}, fmt::format("{} has no effect on ranks that mpirun or srun started", option));
  problems.throw_if_any();
}

}  // namespace

int run_scenario(RunContext& context, const Scenario& scenario, const Prepared& prepared,
                 const Launch& launch) {
  const RunCase run = make_run_case(context.arguments, scenario, prepared);
  const bool watched = !launch.watched_by.empty();
  if (launch.joined && !watched) refuse_watching(context.arguments);
  if (!launch.joined && !watched) return supervise_run(context, run, launch);
  return run_ranks(context, run, {.watched_by = launch.watched_by, .is_mpi = launch.joined});
}

}  // namespace tandem
