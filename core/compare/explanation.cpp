// Changes of the parts of a step, sorted and worded.
#include "core/compare/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units/text.h"

namespace tandem {
namespace {

// Below this share of the step a change is rounding.
constexpr double least_share = 1e-9;

bool is_computation(Activity activity) { return activity <= Activity::Optimizer; }

// The communication of the axis whose time on the wires changed most in the direction of the exposed part.
void name_communication(const Comparison& comparison, Explanation& explanation) {
  for (const KindTime& kind : comparison.kinds) {
    const auto axis = traffic_axis(kind.kind.lane);
    if (!axis || activity(*axis) != explanation.activity) continue;
    const Seconds change = kind.time.change();
    if (change.value * explanation.time.change().value <= 0) continue;
    explanation.kind = kind.kind;
    explanation.kind_change = change;
    return;
  }
}

std::string computation(const TaskKindKey& kind) {
  switch (kind.phase) {
    case Phase::Forward:
      return "forward of " + kind.name;
    case Phase::InputGradient:
      return "input gradient of " + kind.name;
    case Phase::WeightGradient:
      return "weight gradient of " + kind.name;
    case Phase::Recompute:
      return "recomputation of " + kind.name;
    case Phase::Update:
      return kind.name == "optimizer" ? "the optimizer" : kind.name + " in the update";
  }
  return kind.name;
}

std::string subject(const Explanation& explanation) {
  if (is_computation(explanation.activity)) return computation(explanation.kind);
  switch (explanation.activity) {
    case Activity::Tensor:
    case Activity::Context:
    case Activity::Expert:
    case Activity::Data:
    case Activity::Pipeline:
      return fmt::format("{} communication", name(explanation.activity));
    case Activity::Copy:
      return "exposed copying";
    case Activity::Input:
      return "waiting for input";
    case Activity::Bubble:
      return "the pipeline bubble";
    case Activity::Host:
      return "waiting for the host";
    default:
      return "idle time";
  }
}

std::string change_of(const Compared<Seconds>& time, bool measured) {
  const double a = time.a.median.value, b = time.b.median.value;
  if (a == 0) return measured ? "was not predicted" : "is in B alone";
  if (b == 0) return measured ? "was predicted and not met" : "is in A alone";
  if (b >= 2 * a)
    return fmt::format("takes {:.3g} times as long {}", b / a, measured ? "as predicted" : "in B as in A");
  const double percent = 100 * std::fabs(b / a - 1);
  return fmt::format("takes {:.{}f} % {} {}", percent, percent < 9.95 ? 1 : 0, b > a ? "longer" : "less",
                     measured ? "than predicted" : "in B");
}

}  // namespace

std::string signed_text(Seconds time) { return (time > Seconds(0) ? "+" : "") + text(time); }

std::string count_text(double tasks) {
  const double whole = std::round(tasks);
  return std::fabs(tasks - whole) < 0.05 ? text_grouped(std::llround(tasks)) : fmt::format("{:.1f}", tasks);
}

std::vector<Explanation> explanations(const Comparison& comparison) {
  std::vector<Explanation> result;
  for (const KindTime& kind : comparison.kinds)
    if (kind.kind.lane == Lane::Compute)
      result.push_back({activity(kind.kind.phase), kind.kind, kind.tasks_a, kind.tasks_b, kind.time, {}});
  for (std::size_t i = 0; i < comparison.parts.size(); ++i) {
    const auto activity = static_cast<Activity>(i);
    if (is_computation(activity)) continue;
    Explanation explanation{.activity = activity, .kind = {}, .time = comparison.parts[i]};
    name_communication(comparison, explanation);
    result.push_back(std::move(explanation));
  }
  const Seconds step = std::max(comparison.step.a.median, comparison.step.b.median);
  const auto size = [](const Explanation& e) { return Seconds(std::fabs(e.time.change().value)); };
  std::erase_if(result, [&](const Explanation& e) { return size(e) <= step * least_share; });
  std::stable_sort(result.begin(), result.end(),
                   [&](const Explanation& x, const Explanation& y) { return size(x) > size(y); });
  return result;
}

std::string reason(const Explanation& explanation, const Comparison& comparison) {
  const bool measured = comparison.pair == RunPair::PredictionAndMeasurement;
  return subject(explanation) + " " + change_of(explanation.time, measured);
}

std::string remark(const Explanation& explanation) {
  if (!is_computation(explanation.activity)) {
    if (explanation.kind.name.empty()) return {};
    return fmt::format("{} {} on the wires", explanation.kind.name, signed_text(explanation.kind_change));
  }
  const std::string a = count_text(explanation.tasks_a), b = count_text(explanation.tasks_b);
  if (a == b || explanation.tasks_a == 0 || explanation.tasks_b == 0) return {};
  return fmt::format("{} tasks instead of {}", b, a);
}

std::string text(const Explanation& explanation, const Comparison& comparison) {
  const std::string more = remark(explanation);
  return fmt::format("{}: {} of {}{}", reason(explanation, comparison), signed_text(explanation.time.change()),
                     signed_text(comparison.step.change()), more.empty() ? "" : " (" + more + ")");
}

}  // namespace tandem
