// tandem-exec: the same command line, with the executor.
#include "core/cli/program.h"
#include "exec/calibrate/calibrate.h"
#include "exec/run/run.h"

namespace {

// mpirun's, PMI's and srun's own variables.
bool is_one_of_several() {
  using tandem::variable;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (!variable(name).empty()) return true;
  const std::string tasks = variable("SLURM_STEP_NUM_TASKS");
  return !tasks.empty() && tasks != "1";
}

}  // namespace

int main(int argc, char** argv) {
  tandem::prepare_process();
  const tandem::Launch launch{.program = tandem::own_program(),
                              .arguments = {argv, argv + argc},
                              .joined = is_one_of_several(),
                              .watched_by = tandem::variable("TANDEM_RUN_SOCKET")};
  tandem::Backends backends;
  backends.interrupted = tandem::interrupted;
  backends.execute = [&](tandem::RunContext& context, const tandem::Scenario& scenario,
                         const tandem::Prepared& prepared) {
    return tandem::run_scenario(context, scenario, prepared, launch);
  };
  backends.calibrate = tandem::calibrate_machine;
  return tandem::run_cli(argc, argv, tandem::surroundings(), backends);
}
