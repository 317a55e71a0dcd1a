// Model and plan in, the tasks of one training step out: amounts of work, never durations.
#pragma once
#include "core/model/model_graph.h"
#include "core/plan/plan.h"
#include "core/task/task_graph.h"

namespace tandem {

// Lowers one step. Ranks of one pipeline stage share a program. The result satisfies check_task_graph.
TaskGraph lower(const ModelGraph&, const Plan&);

}  // namespace tandem
