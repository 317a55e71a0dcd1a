// tandem run.
#include "core/cli/prediction.h"
#include "core/cli/run_context.h"

namespace tandem {

int run_run(RunContext& run) {
  const Library library = read_library(run.scenarios);
  const Scenario scenario = scenario_of(run.arguments, library);
  const Prepared prepared = prepare(scenario);  // problems are said here, by the program that was called
  if (!run.backends.execute) run.backends.start_executor();
  return run.backends.execute(run, scenario, prepared);
}

}  // namespace tandem
