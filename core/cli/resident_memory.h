// What the kernel will say of the processes that train on CPU cores: arenas of ranks, and what lies beside
// them.
#pragma once
#include <optional>

#include "core/cli/prediction.h"

namespace tandem {

// Memory beside the arenas, on average of what was measured: the most that was ever resident (VmHWM) in runs of
// tandem-exec on x86-64 cores with AVX-512 (Debian 12, glibc 2.36, oneDNN 2.6), less the arenas. A GPT-2 of 2
// layers and width 64, whose arena takes 2 MiB, gives all but the last: with 1, 2, 4 and 8 ranks, and with 140
// to 69,000 tasks a rank (more microbatches of the same size). GPT-2s of width 256 to 1536 give the last.
struct BesideArenas {
  static constexpr Bytes mib = gibibytes(1.0 / 1024);
  Bytes process = 20 * mib;          // program, libraries, kernels that oneDNN compiles, the record's pages
  Bytes mpi = 9 * mib;               // more in a process of MPI: its libraries and shared memory
  Bytes rank = 1 * mib;              // stacks and queues of its five threads
  Bytes program_task = Bytes(900);   // graph, data flow and record, once for all ranks of a stage
  Bytes rank_task = Bytes(850);      // what a rank binds to it: action or calls, event, waits, times
  Bytes reported_task = Bytes(140);  // of a rank in another process, whose times rank 0 records
  // dnnl_sgemm packs blocks of its operands, and the heap of the compute thread keeps several of the largest:
  // with their free space in between, 1 to 4 of them.
  double packed_products = 2.5;
};

struct ResidentMemory {
  Bytes arena;    // of the rank that holds most
  Bytes threads;  // of one process that has all ranks
  Bytes process;  // of the largest process where each has one rank (--mpi)
};

// On cores, where operands are known (has_data_flow), one core a rank; else nothing. The graph's buffers become
// the arenas' values. Left out is what only a run can know: routed rows beyond even routing.
std::optional<ResidentMemory> resident_on_cores(const Prepared&, const CostModel&, TaskGraph&,
                                                const BesideArenas& = {});

}  // namespace tandem
