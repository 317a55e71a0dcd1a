// What every command gets: its arguments, where to write, the shipped files, the backends.
#pragma once
#include "core/cli/arguments.h"
#include "core/cli/cli.h"
#include "core/cli/output.h"
#include "core/scenario/value.h"

namespace tandem {

struct RunContext {
  const Arguments& arguments;
  Output& out;
  const Surroundings& surroundings;
  const Backends& backends;
  std::string scenarios;  // folder
  bool interrupted() const { return backends.interrupted && backends.interrupted(); }
};

// Commands, each in a file of its own. They return the exit code and throw InputError and BackendError.
int run_predict(RunContext&);
int run_run(RunContext&);
int run_calibrate(RunContext&);
int run_show(RunContext&);
int run_compare(RunContext&);
int run_export(RunContext&);
int run_collective(RunContext&);
int run_check(RunContext&);
int run_validate(RunContext&);
int run_models(RunContext&);
int run_clusters(RunContext&);
int run_schedules(RunContext&);

// The scenario that file and flags describe. Remarks go into it.
Scenario scenario_of(const Arguments& arguments, const Library& library);

}  // namespace tandem
