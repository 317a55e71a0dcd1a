// Chrome trace JSON in the shape of PyTorch's Kineto, so that viewers of measured traces open predictions too.
#pragma once
#include <ostream>

#include "core/record/run_record.h"

namespace tandem {

// Rows: pid = rank, tid = lane (the number of the enum), sorted by stage and rank; computations and
// communications are "kernel", copies "gpu_memcpy", input "cpu_op", steps "user_annotation" ProfilerStep#N on a
// row of their own. Collectives are called ncclDevKernel_AllReduce_Sum_RING or alike (the protocol is not part
// of a record, so no suffix claims one) and carry Kineto's arguments; sizes are bytes (dtype "Byte"), since
// records do not keep element types. Counters: "memory" by class, and flows "s" -> "f" from send to receive.
// Times are µs with three decimals, from the start of the record.
void write_chrome_trace(const RunRecord&, std::ostream&);

}  // namespace tandem
