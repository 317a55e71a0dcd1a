// The ranks of a run: all of them as threads of this process, or this process as one of MPI's.
#pragma once
#include "core/cli/run_context.h"
#include "exec/run/run_case.h"

namespace tandem {

struct RanksOptions {
  std::string watched_by;  // socket of the watching process; "": none
  bool is_mpi = false;     // this process is one rank of several
};
// The exit code; the report goes to the context's output.
int run_ranks(RunContext&, const RunCase&, const RanksOptions&);

}  // namespace tandem
