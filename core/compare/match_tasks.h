// Which task of one record is which of the other, and which have no counterpart.
#pragma once
#include "core/compare/comparison.h"
#include "core/compare/task_kinds.h"

namespace tandem {

// Fills labels, tasks, missing kinds and the numbers of spans. Spans of warm-up steps take no part.
void match_tasks(const RunRecord& a, const TaskKinds& kinds_a, const RunRecord& b, const TaskKinds& kinds_b,
                 Comparison&);

}  // namespace tandem
