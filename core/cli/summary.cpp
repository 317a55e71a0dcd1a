// Numbers of a run that follow from its record, its task graph and the machine.
#include "core/cli/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cli/bottleneck.h"

namespace tandem {
namespace {

// Model flops of the whole step with recomputation: what HFU counts.
double hardware_flops(const TaskGraph& graph) {
  std::vector<double> ranks(graph.programs.size(), 0);
  for (const ProgramId program : graph.program_of) ranks[program.value] += 1;
  double sum = 0;
  for (std::size_t p = 0; p < graph.programs.size(); ++p) {
    double own = 0;
    for (const Task& task : graph.programs[ProgramId(p)].tasks)
      if (const auto* compute = std::get_if<Compute>(&graph.works[task.work]))
        own += compute->model_flops.value;
    sum += own * ranks[p];
  }
  return sum;
}

// Dense peak of all devices in the plan's number format; nothing when one of them has none.
std::optional<double> peak_rate(const Cluster& cluster, const std::vector<std::uint32_t>& devices,
                                DType dtype) {
  double sum = 0;
  for (const std::uint32_t device : devices) {
    const DeviceKind& kind = cluster.kind(DeviceId(device));
    const auto rate = kind.peak.find(dtype);
    if (dtype == DType::Fp32 && kind.tf32_peak)
      sum += kind.tf32_peak->value;
    else if (rate != kind.peak.end())
      sum += rate->second.value;
    else
      return std::nullopt;
  }
  return sum;
}

// Groups of more than one rank that a rank belongs to: each has a communicator with buffers of its own.
std::size_t communicators(const Mesh& mesh) {
  std::size_t count = 0;
  for (const Axis axis : {Axis::Tensor, Axis::Context, Axis::DataContext, Axis::Pipeline, Axis::Expert,
                          Axis::ExpertTensor, Axis::ExpertData, Axis::Embedding})
    if (mesh.size(axis) > 1) ++count;
  return count;
}

class Summariser {
 public:
  Summariser(const MeasurementParts& parts, RunRecord& record)
      : parts_(parts),
        record_(record),
        keys_(record.summary),
        step_(parts.step_time.value),
        devices_(static_cast<double>(parts.graph.device_of.size())) {}

  void common() {
    keys_["step_time_s"] = step_;
    keys_["devices"] = devices_;
    keys_["microbatches"] = parts_.graph.microbatches;
    throughput();
    for (const auto& [key, value] : breakdown_values(parts_.breakdown)) keys_[key] = value;
    const double efficiency = utilisation(parts_.breakdown);
    money();
    record_.header.notes["bottleneck"] = bottleneck_of(parts_.breakdown, parts_.prepared.plan, efficiency);
    remarks();
  }

  void prediction(const CostModel& costs, const Playback& playback) {
    memory(costs);
    keys_["tasks_played"] = static_cast<double>(playback.tasks_played);
    keys_["flows_played"] = static_cast<double>(playback.flows_played);
    keys_["rank_classes"] = static_cast<double>(playback.rank_classes);
    add_remark(playback.remark);
  }

 private:
  void throughput() {
    const TaskGraph& graph = parts_.graph;
    if (graph.samples > 0) {
      keys_["samples_per_step"] = graph.samples;
      if (step_ > 0) keys_["samples_per_s"] = graph.samples / step_;
    }
    if (graph.tokens > 0) {
      keys_["tokens_per_step"] = graph.tokens;
      if (step_ > 0) keys_["tokens_per_s"] = graph.tokens / step_;
      if (step_ > 0) keys_["tokens_per_s_per_gpu"] = graph.tokens / step_ / devices_;
    }
  }

  // Share of the peak while computing; 0 when the peak is not known.
  double utilisation(const Breakdown& mean) {
    const double model = parts_.graph.model_flops.value;
    if (step_ <= 0 || model <= 0) return 0;
    keys_["model_tflops_per_gpu"] = model / step_ / devices_ / 1e12;
    const auto peak =
        peak_rate(parts_.prepared.cluster, parts_.graph.device_of, parts_.prepared.plan.spec.dtype);
    if (!peak || *peak <= 0) return 0;
    const double hardware = hardware_flops(parts_.graph);
    keys_["mfu"] = model / (step_ * *peak);
    keys_["hfu"] = hardware / (step_ * *peak);
    const double busy = mean.compute().value;
    return busy > 0 ? hardware / (busy * *peak) : 0;
  }

  void memory(const CostModel& costs) {
    const std::vector<StageMemory> stages = memory_of(record_);
    const std::size_t groups = communicators(parts_.graph.mesh);
    double worst = -1e300;
    for (const StageMemory& stage : stages) {
      const DeviceId device(parts_.graph.device_of[stage.rank.value]);
      const Device& place = parts_.prepared.cluster[device];
      const Bytes beside = costs.reserved_memory(place.kind, groups);
      const Bytes limit = parts_.prepared.cluster.kind(device).memory;
      const Bytes held = costs.held_by_allocator(stage.allocated);
      const double over = (held + beside - limit).value;
      if (over <= worst) continue;
      worst = over;
      const double gib = gibibytes(1).value;
      keys_["peak_memory_gib"] = stage.allocated.value / gib;
      keys_["context_gib"] = beside.value / gib;
      keys_["reserved_gib"] = (held + beside).value / gib;
      keys_["memory_limit_gib"] = limit.value / gib;
      keys_["fits"] = over <= 0 ? 1 : 0;
      keys_["peak_memory_stage"] = stage.stage;
    }
  }

  void money() {
    const Cluster& cluster = parts_.prepared.cluster;
    // The whole cluster is paid for, also when the plan leaves devices idle.
    if (const auto hourly = cluster.usd_per_hour()) {
      keys_["price_per_device_hour"] = *hourly / static_cast<double>(cluster.device_count());
      keys_["cost_per_step"] = *hourly * step_ / 3600;
      if (parts_.graph.tokens > 0)
        keys_["cost_per_billion_tokens"] = keys_["cost_per_step"] / parts_.graph.tokens * 1e9;
      record_.header.notes["price"] = price_text();
    }
    if (const auto power = cluster.power()) keys_["energy_per_step_kwh"] = power->value * step_ / 3.6e6;
    if (!parts_.scenario.tokens_total || parts_.graph.tokens <= 0) return;
    const double steps = *parts_.scenario.tokens_total / parts_.graph.tokens;
    keys_["tokens_total"] = *parts_.scenario.tokens_total;
    keys_["training_days"] = steps * step_ / 86400;
    if (keys_.contains("cost_per_step")) keys_["training_cost"] = steps * keys_["cost_per_step"];
  }

  std::string price_text() const {
    std::map<std::string, std::string> texts;
    for (const DeviceKind& kind : parts_.prepared.cluster.kinds()) {
      if (!kind.price) continue;
      const Price& price = *kind.price;
      std::string amount = fmt::format("${:.2f}", price.usd_per_device_hour());
      if (price.usd_per_device_hour_low != price.usd_per_device_hour_high)
        amount +=
            fmt::format(" (${:.2f} to ${:.2f})", price.usd_per_device_hour_low, price.usd_per_device_hour_high);
      texts[kind.id] = fmt::format("{} a device-hour of {}, {}", amount, kind.id, price.date);
    }
    std::string all;
    for (const auto& [id, text] : texts) all += (all.empty() ? "" : "; ") + text;
    return all;
  }

  void add_remark(const std::string& remark) {
    if (!remark.empty()) record_.header.notes[fmt::format("remark {:02}", ++remarks_)] = remark;
  }

  void remarks() {
    for (const std::string& remark : parts_.prepared.plan.remarks) add_remark(remark);
    for (const std::string& note : parts_.scenario.model.notes) add_remark("model: " + note);
    if (!parts_.scenario.model.unknown_keys.empty()) {
      std::string all;
      for (const std::string& key : parts_.scenario.model.unknown_keys) all += (all.empty() ? "" : ", ") + key;
      add_remark("model: keys without effect: " + all);
    }
    for (const std::string& remark : parts_.scenario.remarks) add_remark(remark);
  }

  const MeasurementParts& parts_;
  RunRecord& record_;
  std::map<std::string, double>& keys_;
  double step_, devices_;
  int remarks_ = 0;
};

}  // namespace

void summarise(const PredictionParts& parts, RunRecord& record) {
  const Breakdown mean = breakdown(record).mean;
  const MeasurementParts measured{parts.scenario, parts.prepared, parts.graph, parts.playback.step_time, mean};
  Summariser summariser(measured, record);
  summariser.common();
  summariser.prediction(parts.costs, parts.playback);
}

void summarise_measurement(const MeasurementParts& parts, RunRecord& record) {
  Summariser(parts, record).common();
}

}  // namespace tandem
