// `tandem run` in the program that can: from a scenario to the record of a measured run.
#pragma once
#include <string>
#include <vector>

#include "core/cli/prediction.h"
#include "core/cli/run_context.h"

namespace tandem {

// How this process came to be.
struct Launch {
  std::string program;                 // this executable
  std::vector<std::string> arguments;  // all of them, the program's name first
  bool joined = false;                 // mpirun or srun started it as one rank of several
  std::string watched_by;              // socket of the process that started it to run ranks; "": nobody
};

// Returns the exit code. InputError for everything that cannot be run, before anything starts.
int run_scenario(RunContext&, const Scenario&, const Prepared&, const Launch&);

}  // namespace tandem
