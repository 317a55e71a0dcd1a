// Names of activities and what spans count as.
#include "core/record/activity.h"

#include <cctype>

namespace tandem {

std::string_view name(TrafficAxis axis) {
  static constexpr std::string_view names[] = {"tp", "cp", "ep", "dp", "pp"};
  return names[static_cast<std::size_t>(axis)];
}

std::optional<TrafficAxis> traffic_axis(Lane lane) {
  switch (lane) {
    case Lane::Tensor:
      return TrafficAxis::Tensor;
    case Lane::Context:
      return TrafficAxis::Context;
    case Lane::Expert:
      return TrafficAxis::Expert;
    case Lane::Data:
      return TrafficAxis::Data;
    case Lane::SendNext:
    case Lane::SendPrevious:
    case Lane::ReceiveNext:
    case Lane::ReceivePrevious:
      return TrafficAxis::Pipeline;
    case Lane::Compute:
    case Lane::Copy:
    case Lane::Input:
    case Lane::Count:
      break;
  }
  return std::nullopt;
}

std::string_view name(Activity activity) {
  static constexpr ByActivity<std::string_view> names = {
      "forward",      "backward",   "weight gradient", "recompute",  "optimizer",
      "exposed tp",   "exposed cp", "exposed ep",      "exposed dp", "exposed pp",
      "exposed copy", "input",      "bubble",          "host",       "idle"};
  return names[static_cast<std::size_t>(activity)];
}

std::string_view key(Activity activity) {
  static constexpr ByActivity<std::string_view> keys = {
      "forward_s",      "backward_s",   "weight_gradient_s", "recompute_s",  "optimizer_s",
      "exposed_tp_s",   "exposed_cp_s", "exposed_ep_s",      "exposed_dp_s", "exposed_pp_s",
      "exposed_copy_s", "input_s",      "bubble_s",          "host_s",       "idle_s"};
  return keys[static_cast<std::size_t>(activity)];
}

Activity activity(TrafficAxis axis) {
  return static_cast<Activity>(static_cast<std::size_t>(Activity::Tensor) + static_cast<std::size_t>(axis));
}

Activity activity(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return Activity::Forward;
    case Phase::InputGradient:
      return Activity::Backward;
    case Phase::WeightGradient:
      return Activity::WeightGradient;
    case Phase::Recompute:
      return Activity::Recompute;
    case Phase::Update:
      return Activity::Optimizer;
  }
  return Activity::Idle;
}

Activity activity(const RunRecord& record, const RecordSpan& span) {
  const Lane lane = record.lanes[span.lane].lane;
  if (const auto axis = traffic_axis(lane)) return activity(*axis);
  if (lane == Lane::Copy) return Activity::Copy;
  if (lane == Lane::Input) return Activity::Input;
  return activity(record.tasks[span.task].phase);
}

std::string operator_of_label(std::string_view label) {
  const auto digits = [&](std::size_t at) {
    std::size_t end = at;
    while (end < label.size() && std::isdigit(static_cast<unsigned char>(label[end]))) ++end;
    return end;
  };
  std::string result;
  std::size_t at = 0;
  if (label.starts_with('L'))
    if (const std::size_t end = digits(1); end > 1 && end < label.size() && label[end] == '.') at = end + 1;
  while (at < label.size()) {
    if (label[at] == ' ')
      if (const std::size_t end = digits(at + 1); end > at + 1 && (end == label.size() || label[end] == '.')) {
        at = end;
        continue;
      }
    result += label[at++];
  }
  return result;
}

}  // namespace tandem
