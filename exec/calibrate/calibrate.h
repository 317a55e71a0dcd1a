// `tandem calibrate` in the program that can measure: works of a scenario, or of small models of many shapes.
#pragma once
#include "core/cli/run_context.h"

namespace tandem {

// Writes the calibration that --output names; returns the exit code.
int calibrate_machine(RunContext&);

}  // namespace tandem
