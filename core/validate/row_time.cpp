// The measured time of one step, from whichever figure a row prints, under the convention that the row names.
#include <fmt/format.h>

#include "core/model/model_flops.h"
#include "core/validate/run_case.h"

namespace tandem {
namespace {

// Flops of one step that a printed TFLOP/s counts.
std::optional<double> counted_flops(const RunRow& row, const RunCase& run, FlopsConvention convention) {
  const ModelGraph graph = build_model(run.model);
  const double samples = static_cast<double>(*row.global_batch);
  const TokenShape one{.batch = 1, .main = *row.seq_len, .encoder = 0};
  const double tokens = samples * static_cast<double>(*row.seq_len);
  const double parameters = parameter_formula(run.model);
  switch (convention) {
    case FlopsConvention::Model:
      return model_flops(graph, one, AttentionFlops::Full).value * samples;
    case FlopsConvention::ModelCausal:
      return model_flops(graph, one, AttentionFlops::CausalHalf).value * samples;
    case FlopsConvention::WithRecompute: {
      // Narayanan 2021, equation 3: 96 B s l h^2 (1 + s/6h + V/16lh); the logits are not made twice.
      const double l = static_cast<double>(*row.layers), h = static_cast<double>(*row.hidden),
                   s = static_cast<double>(*row.seq_len), v = static_cast<double>(row.vocab.value_or(51200));
      return 96 * samples * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
    }
    case FlopsConvention::Parameters:
      return 6 * parameters * tokens;
    case FlopsConvention::ParametersWithRecompute:
      return 8 * parameters * tokens;
    case FlopsConvention::Unknown:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::variant<double, Skip> row_time(const RunRow& row, const RunCase& run, const FrameworkDefaults& defaults) {
  if (row.iteration_s && *row.iteration_s > 0) return *row.iteration_s;
  const double devices = static_cast<double>(*row.num_gpus);
  if (row.tokens_per_s_per_gpu && *row.tokens_per_s_per_gpu > 0)
    return static_cast<double>(*row.global_batch) * static_cast<double>(*row.seq_len) /
           (*row.tokens_per_s_per_gpu * devices);
  double rate = row.tflops_per_gpu.value_or(0) * 1e12;
  if (rate <= 0 && row.mfu.value_or(0) > 0) {
    const DeviceKind& device = run.cluster.groups.front().device;
    if (const auto peak = device.peak.find(DType::Bf16); peak != device.peak.end())
      rate = *row.mfu * peak->second.value;
  }
  if (rate <= 0) return Skip{"no time, throughput or rate is printed"};
  FlopsConvention convention = flops_convention(row.flops_formula);
  if (row.flops_formula.empty()) convention = row.tflops_per_gpu ? defaults.flops : FlopsConvention::Model;
  const std::optional<double> flops = counted_flops(row, run, convention);
  if (!flops) return Skip{"only TFLOP/s are printed, under a convention that is not stated"};
  return *flops / (rate * devices);
}

}  // namespace tandem
