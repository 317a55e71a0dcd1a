// Names the largest loss of a step and the levers that act on it.
#include "core/cli/bottleneck.h"

#include <fmt/format.h>

namespace tandem {
namespace {

// Losses below this share of the step are no bottleneck.
constexpr double notable = 0.05;

std::string bubble_advice(const Plan& plan) {
  const std::int64_t pp = plan.spec.pipeline_model_parallel_size;
  // 1F1B idles (pp - 1) of (microbatches + pp - 1) slots a chunk (Narayanan 2021, section 2.2).
  const double slots = static_cast<double>(plan.microbatches) * plan.schedule.chunks_per_stage;
  const auto ideal = [&](double factor) {
    return static_cast<double>(pp - 1) / (slots * factor + static_cast<double>(pp - 1));
  };
  std::string advice = fmt::format("{} stages share {} microbatches", pp, plan.microbatches);
  advice += fmt::format(
      "; twice as many microbatches, or twice the chunks a stage (vpp), would bring the ideal bubble from "
      "{:.0f} % to {:.0f} %",
      100 * ideal(1), 100 * ideal(2));
  if (plan.schedule.kind != ScheduleKind::ZeroBubbleH1 && plan.schedule.kind != ScheduleKind::ZeroBubbleV)
    advice += "; schedule = \"zb-h1\" fills it with weight gradients";
  return advice;
}

std::string data_advice(const Plan& plan) {
  if (plan.spec.zero_stage == 3)
    return "a larger micro batch gathers the weights less often for the same tokens; so does hybrid sharding "
           "inside a node";
  if (!plan.spec.overlap_grad_reduce)
    return "overlap_grad_reduce = true hides gradient reduction behind the backward pass";
  if (plan.spec.zero_stage >= 1 && !plan.spec.overlap_param_gather)
    return "overlap_param_gather = true hides the parameters' gathering behind the forward pass";
  return "more microbatches a step spread the same reduction over more computation";
}

}  // namespace

std::string bottleneck_of(const Breakdown& parts, const Plan& plan, double compute_efficiency) {
  Activity worst = Activity::Idle;
  Seconds most;
  for (const Activity each : {Activity::Recompute, Activity::Optimizer, Activity::Tensor, Activity::Context,
                              Activity::Expert, Activity::Data, Activity::Pipeline, Activity::Copy,
                              Activity::Input, Activity::Bubble, Activity::Host, Activity::Idle})
    if (parts[each] > most) worst = each, most = parts[each];
  const double share = parts.step.value > 0 ? most / parts.step : 0;
  if (share < notable) {
    std::string sentence =
        fmt::format("computation: it fills {:.1f} % of the step", 100 * (parts.compute() / parts.step));
    if (compute_efficiency > 0)
      sentence += fmt::format(" at {:.0f} % of the devices' peak", 100 * compute_efficiency);
    return sentence + "; faster devices, a narrower number format or more of them would relieve it";
  }
  const std::string lead = fmt::format("{}: {:.1f} % of the step", name(worst), 100 * share);
  switch (worst) {
    case Activity::Bubble:
      return lead + "; " + bubble_advice(plan);
    case Activity::Data:
      return lead + "; " + data_advice(plan);
    case Activity::Tensor:
      return lead + (plan.spec.tp_comm_overlap
                         ? "; a smaller tp communicates less"
                         : "; tp_comm_overlap = true hides a part of it, a smaller tp communicates less");
    case Activity::Context:
      return lead + "; a smaller cp, or another cp_comm_type, communicates less";
    case Activity::Expert:
      return lead + "; keep ep inside a node, or a smaller ep";
    case Activity::Pipeline:
      return lead + (plan.spec.overlap_p2p_comm
                         ? "; fewer stages or chunks, or a larger micro batch, send less often"
                         : "; overlap_p2p_comm = true hides a part of it");
    case Activity::Recompute:
      return lead + (plan.spec.recompute_granularity == RecomputeGranularity::Full
                         ? "; selective recomputation, if memory allows, spares most of it"
                         : "; no recomputation, if memory allows, spares it");
    case Activity::Optimizer:
      return lead + (plan.spec.zero_stage == 0 ? "; zero_stage = 1 shares it among data-parallel ranks"
                                               : "; a larger global batch spreads it over more tokens");
    case Activity::Host:
      return lead +
             "; larger kernels (a larger micro batch, a smaller tp) or captured graphs keep the launcher ahead";
    case Activity::Copy:
      return lead + "; optimizer_cpu_offload = false, if memory allows, spares the copies";
    case Activity::Input:
      return lead + "; the input pipeline does not keep up";
    default:
      return lead + "; ranks wait for each other, so their work differs";
  }
}

}  // namespace tandem
