// Durations of works as a measured record holds them.
#pragma once
#include "core/cost/profile_builder.h"
#include "core/record/run_record.h"
#include "core/scenario/scenario.h"

namespace tandem {

// Adds the median over measured steps of each task of each recorded rank. InputError for a prediction, a record
// without measured steps, and one whose tasks are not those that its scenario is lowered to now; `file` names
// it.
void add_record(const RunRecord&, const std::string& file, const Library&, ProfileBuilder&);

}  // namespace tandem
