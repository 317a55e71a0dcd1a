// The program people type: everything but the simulation, for which it starts its sibling tandem-sim.
#include "core/cli/program.h"

int main(int argc, char** argv) {
  tandem::prepare_process();
  tandem::Backends backends;
  backends.start_simulator = [argv] { tandem::start_sibling("tandem-sim", argv); };
  backends.interrupted = tandem::interrupted;
  return tandem::run_cli(argc, argv, tandem::surroundings(), backends);
}
