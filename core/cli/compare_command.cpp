// tandem compare: two records side by side.
#include <fmt/format.h>

#include <algorithm>

#include "core/cli/comparison_report.h"
#include "core/cli/run_context.h"
#include "core/compare/compare.h"

namespace tandem {
namespace {

RunRecord record_with_steps(const std::string& path) {
  RunRecord record = read_record(path);
  const bool measured = std::any_of(record.spans.begin(), record.spans.end(),
                                    [&](const RecordSpan& span) { return span.step >= record.warmup_steps; });
  if (!measured)
    refuse({.file = path}, record.spans.empty() ? "has no spans to compare" : "has no steps after its warm-up");
  return record;
}

}  // namespace

int run_compare(RunContext& run) {
  const Arguments& arguments = run.arguments;
  if (arguments.operands.size() != 2)
    refuse({}, fmt::format("tandem compare needs two records, {} given", arguments.operands.size()),
           "tandem compare PREDICTION.tandem MEASUREMENT.tandem; tandem predict -o FILE.tandem writes one");
  const auto top = arguments.number("--top", 1, 1000).value_or(10);
  std::string file_a = arguments.operands[0], file_b = arguments.operands[1];
  RunRecord a = record_with_steps(file_a), b = record_with_steps(file_b);
  // A deviation is of the prediction from the measurement, in whichever order the two were named.
  if (!is_prediction(a.header) && is_prediction(b.header)) {
    std::swap(a, b);
    std::swap(file_a, file_b);
  }
  const Comparison comparison = compare(a, b);
  if (arguments.has("--json"))
    run.out.add(comparison_json(comparison, file_a, file_b));
  else
    write_comparison(comparison, {.file_a = file_a, .file_b = file_b, .top = static_cast<std::size_t>(top)},
                     run.out);
  return 0;
}

}  // namespace tandem
