// The parts of a comparison, one after the other.
#include "core/compare/compare.h"

#include <set>

#include "core/compare/compare_losses.h"
#include "core/compare/compare_memory.h"
#include "core/compare/compare_steps.h"
#include "core/compare/explanation.h"
#include "core/compare/match_tasks.h"
#include "core/compare/representatives.h"
#include "core/compare/sameness.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

RunSide side(const RunRecord& record, const StepSums& sums) {
  RunSide side{.header = record.header, .steps = static_cast<std::uint32_t>(sums.mean.size())};
  std::set<RankId> recorded;
  for (const RecordLane& lane : record.lanes) recorded.insert(lane.rank);
  side.recorded = static_cast<std::uint32_t>(recorded.size());
  side.ranks = ranks_of_run(record);
  side.spans = record.spans.size();
  std::set<std::uint32_t> warmup;
  for (const RecordSpan& span : record.spans)
    if (span.step < record.warmup_steps) ++side.warmup_spans, warmup.insert(span.step);
  side.warmup_steps = static_cast<std::uint32_t>(warmup.size());
  return side;
}

RunPair pair_of(const RecordHeader& a, const RecordHeader& b) {
  if (is_prediction(a)) return is_prediction(b) ? RunPair::Predictions : RunPair::PredictionAndMeasurement;
  return is_prediction(b) ? RunPair::MeasurementAndPrediction : RunPair::Measurements;
}

}  // namespace

bool is_prediction(const RecordHeader& header) {
  return header.backend == "estimate" || header.backend == "simgrid";
}

Comparison compare(const RunRecord& a, const RunRecord& b) {
  const TaskKinds kinds_a(a), kinds_b(b);
  const StepSums sums_a = step_sums(a, kinds_a), sums_b = step_sums(b, kinds_b);
  Comparison result;
  result.pair = pair_of(a.header, b.header);
  result.a = side(a, sums_a);
  result.b = side(b, sums_b);
  result.same = sameness(a.header, b.header);
  compare_steps(sums_a, sums_b, result);
  compare_memory(a, b, result);
  result.losses = compare_losses(a, b);
  match_tasks(a, kinds_a, b, kinds_b, result);
  result.explanations = explanations(result);
  check_comparison(result);
  return result;
}

void check_comparison(const Comparison& comparison) {
  const auto whole = [](const RunSide& side, std::size_t matched, std::size_t missing) {
    return side.spans == matched + missing + side.warmup_spans;
  };
  check(whole(comparison.a, comparison.spans_matched_a, comparison.spans_only_a),
        "every span of A is matched, missing or of the warm-up");
  check(whole(comparison.b, comparison.spans_matched_b, comparison.spans_only_b),
        "every span of B is matched, missing or of the warm-up");
}

}  // namespace tandem
