// tandem-sim: the same command line, with the simulator.
#include "core/cli/program.h"
#include "sim/simulate.h"

int main(int argc, char** argv) {
  tandem::prepare_process();
  tandem::Backends backends;
  backends.simulate = tandem::simulate;
  backends.interrupted = tandem::interrupted;
  return tandem::run_cli(argc, argv, tandem::surroundings(), backends);
}
