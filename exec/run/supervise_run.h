// A run in processes of its own: started, watched, started again from its last checkpoint.
#pragma once
#include "core/cli/run_context.h"
#include "exec/run/run.h"
#include "exec/run/run_case.h"

namespace tandem {

int supervise_run(RunContext&, const RunCase&, const Launch&);

}  // namespace tandem
