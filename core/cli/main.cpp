// The program people type: everything but simulating and executing, for which it starts its siblings.
#include "core/cli/program.h"

int main(int argc, char** argv) {
  tandem::prepare_process();
  tandem::Backends backends;
  backends.start_simulator = [argv] {
    tandem::start_sibling("tandem-sim", argv,
                          "nothing can be simulated\n  hint: install libsimgrid-dev and build again, or add "
                          "--fidelity estimate");
  };
  backends.start_executor = [argv] {
    tandem::start_sibling("tandem-exec", argv,
                          "nothing can be run\n  hint: install libdnnl-dev and build again");
  };
  backends.interrupted = tandem::interrupted;
  return tandem::run_cli(argc, argv, tandem::surroundings(), backends);
}
