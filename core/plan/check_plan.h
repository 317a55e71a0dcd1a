// What holds for every plan that resolve_plan made.
#pragma once
#include "core/model/model_graph.h"
#include "core/plan/plan.h"

namespace tandem {

// Every layer in exactly one position, in order; microbatch size x count x dp = global batch; one device a
// rank; degrees filled in and equal to the mesh's; the schedule's own invariants. Throws std::logic_error
// naming what is broken.
void check_plan(const Plan&, const ModelGraph&);

}  // namespace tandem
