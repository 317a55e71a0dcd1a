// The command line: one entry for all programs, which differ in the backends they hand in.
#pragma once
#include <functional>
#include <string>

#include "core/cost/cost_model.h"
#include "core/estimate/playback.h"

namespace tandem {

using Simulate =
    std::function<Playback(const TaskGraph&, const Cluster&, const CostModel&, const PlayOptions&)>;

struct RunContext;
struct Scenario;
struct Prepared;
// Runs a scenario for real; returns the exit code.
using Execute = std::function<int(RunContext&, const Scenario&, const Prepared&)>;

// Measures the machine for `tandem calibrate`; returns the exit code.
using Calibrate = std::function<int(RunContext&)>;

struct Surroundings {
  std::string scenarios;       // folder of models/, clusters/, calibrations/ and shipped scenarios
  bool colour_allowed = true;  // NO_COLOR is not set
  bool output_is_terminal = false, messages_are_terminal = false;
  int columns = 100;  // of the terminal
};

// What a program can do beside estimating.
struct Backends {
  Simulate simulate;                      // empty: not in this program
  std::function<void()> start_simulator;  // hands over to the program that can; never returns, or throws
  Execute execute;                        // empty: not in this program
  Calibrate calibrate;                    // in the program that executes
  std::function<void()> start_executor;   // as start_simulator
  std::function<bool()> interrupted;      // Ctrl-C was pressed
};

// Exit codes.
constexpr int exit_input = 2, exit_surroundings = 3, exit_fault = 70, exit_interrupted = 130;

// Runs one command: result on standard output, problems and progress on standard error, and the exit code.
// Never throws.
int run_cli(int argc, char** argv, const Surroundings& environment, const Backends& backends);

}  // namespace tandem
