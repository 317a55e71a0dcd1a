// One line each for people.
#include "core/cli/describe.h"

#include <fmt/format.h>

#include <map>

#include "core/units/text.h"

namespace tandem {

std::string describe_model(const ModelSpec& spec, const ModelGraph& graph) {
  std::string line =
      fmt::format("{}: {} parameters", spec.name, text_count(static_cast<double>(graph.total_parameters())));
  if (graph.has_experts())
    line += fmt::format(" ({} active)", text_count(static_cast<double>(graph.active_parameters())));
  if (spec.encoder_layers > 0)
    line += fmt::format(", {} encoder and {} decoder layers", spec.encoder_layers, spec.num_hidden_layers);
  else
    line += fmt::format(", {} layers", spec.num_hidden_layers);
  line += fmt::format(", width {}, {} heads", spec.hidden_size, spec.num_attention_heads);
  if (spec.latent.kv_lora_rank > 0)
    line += " (latent)";
  else if (spec.num_key_value_heads != spec.num_attention_heads)
    line += fmt::format(" ({} for keys and values)", spec.num_key_value_heads);
  if (graph.has_experts()) line += fmt::format(", {} of {} experts", spec.moe.top_k, spec.moe.experts);
  return line;
}

std::string describe_cluster(const Cluster& cluster) {
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < cluster.device_count(); ++i) ++counts[cluster.kind(DeviceId(i)).name];
  std::string devices;
  for (const auto& [kind, count] : counts)
    devices += fmt::format("{}{} x {}", devices.empty() ? "" : " + ", count, kind);
  std::string line = fmt::format("{}: {}", cluster.name(), devices);
  if (cluster.node_count() > 1) {
    line += fmt::format(", {} nodes, {}", cluster.node_count(), name(cluster.spec().fabric.kind));
    if (cluster.spec().fabric.oversubscription != 1)
      line += fmt::format(" {:g}:1", cluster.spec().fabric.oversubscription);
  }
  return line;
}

std::string describe_plan(const Plan& plan) {
  const PlanSpec& spec = plan.spec;
  std::string line;
  const auto degree = [&](std::string_view axis, std::int64_t size) {
    if (size > 1) line += fmt::format("{}{} {}", line.empty() ? "" : " x ", axis, size);
  };
  const MeshShape& shape = plan.mesh.shape();
  degree("tp", shape.tp);
  if (spec.sequence_parallel) line += " (sp)";
  degree("cp", shape.cp);
  degree("pp", shape.pp);
  if (plan.schedule.chunks_per_stage > 1) line += fmt::format(" (vpp {})", plan.schedule.chunks_per_stage);
  degree("dp", shape.dp);
  if (line.empty()) line = "one device";
  if (shape.ep > 1) line += fmt::format(", experts ep {} x etp {}", shape.ep, shape.etp);
  if (shape.pp > 1) line += fmt::format(", {}", name(plan.schedule.kind));
  line += fmt::format(", batch {} = {} x {} x {}", plan.global_batch_size, spec.micro_batch_size,
                      plan.microbatches, shape.dp);
  line += fmt::format(", {} tokens, {}", plan.tokens.main, name(spec.dtype));
  if (spec.zero_stage > 0) line += fmt::format(", zero {}", spec.zero_stage);
  if (spec.recompute_granularity == RecomputeGranularity::Selective) line += ", selective recompute";
  if (spec.recompute_granularity == RecomputeGranularity::Full) line += ", full recompute";
  return line;
}

}  // namespace tandem
