// What a moment of a step was spent on: the parts of a breakdown and of a critical path.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/record/run_record.h"

namespace tandem {

// Axes whose traffic has lanes of its own.
enum class TrafficAxis : std::uint8_t { Tensor, Context, Expert, Data, Pipeline, Count };
constexpr std::size_t traffic_axis_count = static_cast<std::size_t>(TrafficAxis::Count);
std::string_view name(TrafficAxis);             // "tp", "cp", "ep", "dp", "pp"
std::optional<TrafficAxis> traffic_axis(Lane);  // none: compute, copy and input lanes
template <class T>
using ByTrafficAxis = std::array<T, traffic_axis_count>;

enum class Activity : std::uint8_t {
  Forward,
  Backward,
  WeightGradient,
  Recompute,
  Optimizer,  // computation
  Tensor,
  Context,
  Expert,
  Data,
  Pipeline,  // communication, in the order of TrafficAxis
  Copy,      // between device and host memory
  Input,     // the input pipeline
  Bubble,    // another pipeline stage
  Host,      // the host had not launched the next kernel
  Idle,      // other members of a group, and what the record does not explain
  Count
};
constexpr std::size_t activity_count = static_cast<std::size_t>(Activity::Count);
template <class T>
using ByActivity = std::array<T, activity_count>;

std::string_view name(Activity);  // for people: "forward", "weight gradient", "exposed tp", "bubble"
std::string_view key(Activity);   // for --json: "forward_s", "exposed_tp_s", "bubble_s"
Activity activity(TrafficAxis);
Activity activity(Phase);                                // of a computation
Activity activity(const RunRecord&, const RecordSpan&);  // what the span itself does

// "L12.mlp.up" -> "mlp.up", "gradients 3.reduce_scatter" -> "gradients.reduce_scatter": sums over layers and
// buckets.
std::string operator_of_label(std::string_view label);

}  // namespace tandem
