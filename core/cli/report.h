// What a person reads of a record: one screen, numbers with units, a clear verdict on memory.
#pragma once
#include <string>

#include "core/cli/output.h"
#include "core/cli/prediction.h"
#include "core/record/run_record.h"

namespace tandem {

struct ReportOptions {
  bool remarks = true;
};
// Header, step time, breakdown that sums to the step, memory of the stage that holds most, cost, bottleneck,
// remarks.
void write_report(const RunRecord&, const ReportOptions&, Output&);

// The summary as one JSON object: numbers as they are, "fits" as a truth value, and what identifies the record.
std::string summary_json(const RunRecord&);

// Every recorded rank's breakdown; memory by class and stage.
void write_breakdown(const RunRecord&, Output&);
void write_memory(const RunRecord&, Output&);

}  // namespace tandem
