// What cannot be executed, by name, before anything starts.
#pragma once
#include <vector>

#include "core/model/model_spec.h"
#include "core/plan/plan.h"

namespace tandem {

// One problem for each operator or decision that no device here carries out.
std::vector<Problem> check_executable(const ModelSpec&, const ModelGraph&, const Plan&);

}  // namespace tandem
