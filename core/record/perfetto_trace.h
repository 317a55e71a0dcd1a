// Perfetto's own trace format (TracePacket protobuf), written without its library.
#pragma once
#include <ostream>

#include "core/record/run_record.h"

namespace tandem {

// A track a rank, in the order of stages and ranks; below it a track a lane, then counters of live memory by
// class. Slices are tasks (their names and categories interned), with detail, microbatch, flops and bytes as
// annotations; flows lead from send to receive. Categories: phase names for computations, "tp" … "pp" for
// communications, "copy", "input".
void write_perfetto_trace(const RunRecord&, std::ostream&);

}  // namespace tandem
