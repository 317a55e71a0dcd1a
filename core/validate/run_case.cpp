// Turns a row into a case: degrees, batch, precision, recomputation, and the defaults of its framework for the
// rest.
#include "core/validate/run_case.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem {
namespace {

constexpr std::int64_t most_guessed_chunks = 5;

class PlanReader {
 public:
  PlanReader(const RunRow& row, const FrameworkDefaults& defaults, RunCase& run)
      : row_(row), defaults_(defaults), run_(run), plan_(run.plan) {}

  std::optional<Skip> read() {
    for (const auto& step :
         {&PlanReader::degrees, &PlanReader::batch, &PlanReader::format, &PlanReader::memory})
      if (std::optional<Skip> skip = (this->*step)()) return skip;
    chunks();
    return std::nullopt;
  }

 private:
  void assume(std::string_view key, auto value) { run_.assumed.push_back(fmt::format("{} = {}", key, value)); }

  std::optional<Skip> degrees() {
    const bool sharded = defaults_.fully_sharded;
    if ((!row_.tp || !row_.pp) && !sharded) return Skip{"parallel layout is not stated"};
    plan_.tensor_model_parallel_size = std::max<std::int64_t>(1, row_.tp.value_or(1));
    plan_.pipeline_model_parallel_size = std::max<std::int64_t>(1, row_.pp.value_or(1));
    plan_.context_parallel_size = std::max<std::int64_t>(1, row_.cp.value_or(1));
    if (!row_.cp) assume("cp", 1);
    const std::int64_t used =
        plan_.tensor_model_parallel_size * plan_.pipeline_model_parallel_size * plan_.context_parallel_size;
    if (*row_.num_gpus % used != 0) return Skip{"the degrees do not divide the devices"};
    const std::int64_t dp = *row_.num_gpus / used;
    if (row_.dp && *row_.dp != dp) return Skip{"tp x pp x cp x dp differs from the devices"};
    plan_.data_parallel_size = dp;
    if (row_.moe_experts && *row_.moe_experts > 0) {
      if (!row_.ep) assume("ep", 1);
      plan_.expert_model_parallel_size = std::max<std::int64_t>(1, row_.ep.value_or(1));
      plan_.expert_tensor_parallel_size = 1;
    }
    plan_.sequence_parallel = row_.sp ? *row_.sp > 0 : defaults_.sequence_parallel_with_tp;
    if (plan_.tensor_model_parallel_size == 1) plan_.sequence_parallel = false;
    if (!row_.sp && plan_.tensor_model_parallel_size > 1) assume("sequence_parallel", plan_.sequence_parallel);
    plan_.seq_length = *row_.seq_len;
    return std::nullopt;
  }

  std::optional<Skip> batch() {
    if (!row_.global_batch || *row_.global_batch == 0) return Skip{"global batch is not stated"};
    plan_.global_batch_size = *row_.global_batch;
    run_.microbatch_known = row_.micro_batch && *row_.micro_batch > 0;
    plan_.micro_batch_size = run_.microbatch_known ? *row_.micro_batch : 1;
    if (*row_.global_batch % (plan_.micro_batch_size * plan_.data_parallel_size) != 0)
      return Skip{"the batch is not a multiple of micro batch x dp"};
    return std::nullopt;
  }

  std::optional<Skip> format() {
    const std::string& text = row_.precision;
    if (text.empty()) {
      if (!defaults_.dtype_known) return Skip{"number format is not stated"};
      plan_.dtype = defaults_.dtype;
      assume("precision", name(plan_.dtype));
    } else if (text.find("fp4") != std::string::npos) {
      return Skip{"products in four bits are not modelled"};
    } else if (text.find("fp8") != std::string::npos) {
      plan_.dtype = DType::Fp8;
    } else if (text == "bf16" || text == "fp16") {
      plan_.dtype = text == "bf16" ? DType::Bf16 : DType::Fp16;
    } else if (text == "fp32" || text == "tf32") {
      plan_.dtype = DType::Fp32;
    } else {
      return Skip{"number format is not modelled"};
    }
    return std::nullopt;
  }

  std::optional<Skip> memory() {
    plan_.zero_stage = row_.zero_stage.value_or(defaults_.zero_stage);
    if (!row_.zero_stage) assume("zero_stage", plan_.zero_stage);
    if (plan_.zero_stage > 3) return Skip{"zero_stage is not one of 0 to 3"};
    plan_.overlap_grad_reduce = defaults_.overlap_grad_reduce || plan_.zero_stage >= 2;
    plan_.overlap_param_gather = defaults_.overlap_param_gather && plan_.zero_stage > 0;
    plan_.tp_comm_overlap = defaults_.tp_comm_overlap && plan_.sequence_parallel;
    plan_.overlap_p2p_comm = defaults_.overlap_p2p_comm;
    plan_.grad_reduce_in_fp32 = defaults_.grad_reduce_in_fp32;
    plan_.main_grads_dtype = defaults_.main_grads_dtype;
    plan_.gradient_accumulation_fusion = defaults_.gradient_accumulation_fusion;
    plan_.attention_backend = row_.attention == "standard" ? AttentionBackend::Unfused
                              : row_.attention == "flash"  ? AttentionBackend::Flash
                                                           : defaults_.attention;
    if (row_.attention.empty())
      assume("attention", plan_.attention_backend == AttentionBackend::Flash ? "flash" : "standard");
    if (row_.recompute == "full") {
      plan_.recompute_granularity = RecomputeGranularity::Full;
    } else if (row_.recompute == "selective") {
      plan_.recompute_granularity = RecomputeGranularity::Selective;
      plan_.recompute_modules = defaults_.selective;
    } else if (row_.recompute.empty()) {
      assume("recompute", "none");
    }
    return std::nullopt;
  }

  void chunks() {
    const std::int64_t stages = plan_.pipeline_model_parallel_size, layers = run_.model.num_hidden_layers;
    if (stages == 1) return;
    std::int64_t chunks = std::max<std::int64_t>(1, row_.vpp.value_or(1));
    const std::int64_t microbatches =
        plan_.global_batch_size / (plan_.micro_batch_size * plan_.data_parallel_size);
    if (!row_.vpp && defaults_.interleaves && microbatches % stages == 0) {
      for (std::int64_t c = 2; c <= most_guessed_chunks; ++c)
        if (layers % (stages * c) == 0) chunks = c;
      assume("vpp", chunks);
    }
    if (chunks > 1) plan_.virtual_pipeline_model_parallel_size = chunks;
    const std::int64_t positions = stages * chunks;
    if (defaults_.balances_by_cost) return deal_by_cost(positions);
    if (layers % positions == 0) return;
    // The first and last chunk hold one block less for the embedding and the head, as Megatron-Core's
    // account_for flags; else the earlier chunks take what is left over.
    std::vector<std::int64_t> split(static_cast<std::size_t>(positions), layers / positions);
    if ((layers + 2) % positions == 0 && (layers + 2) / positions > 0) {
      split.assign(split.size(), (layers + 2) / positions);
      --split.front();
      --split.back();
    } else {
      for (std::int64_t i = 0; i < layers % positions; ++i) ++split[static_cast<std::size_t>(i)];
    }
    plan_.pipeline_layers = split;
  }

  // nanotron: blocks in order, each to the stage whose share of the cost is not yet full; a block costs its
  // parameters (4 h^2 + 3 h f), the head V h.
  void deal_by_cost(std::int64_t positions) {
    const ModelSpec& model = run_.model;
    const double h = static_cast<double>(model.hidden_size), f = static_cast<double>(model.intermediate_size);
    const double block = 4 * h * h + 3 * h * f, head = static_cast<double>(model.vocab_size) * h;
    const double share =
        (static_cast<double>(model.num_hidden_layers) * block + head) / static_cast<double>(positions);
    std::vector<std::int64_t> split(static_cast<std::size_t>(positions), 0);
    std::size_t stage = 0;
    double dealt = 0;
    for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
      ++split[stage];
      dealt += block;
      if (dealt > share * static_cast<double>(stage + 1) * (1 - 1e-9) && stage + 1 < split.size()) ++stage;
    }
    // A stage in between never stays without a block.
    for (std::size_t s = 1; s + 1 < split.size(); ++s)
      if (split[s] == 0) {
        const auto most = std::max_element(split.begin(), split.end());
        --*most;
        ++split[s];
      }
    plan_.pipeline_layers = split;
  }

  const RunRow& row_;
  const FrameworkDefaults& defaults_;
  RunCase& run_;
  PlanSpec& plan_;
};

}  // namespace

std::variant<RunCase, Skip> run_case(const RunRow& row, const Library& library) {
  if (!row.check.empty() && row.check != "ok" && row.check != "ok-config" && row.check != "n/a")
    return Skip{"flagged by its table: figures contradict each other"};
  if (row.notes.find("LoRA") != std::string::npos || row.flops_formula.starts_with("4N"))
    return Skip{"frozen weights (LoRA) are not modelled"};
  if (!row.status.empty() && row.status != "OOM") return Skip{"failed for a reason that is not memory"};
  const std::optional<FrameworkDefaults> defaults = framework_defaults(row.framework);
  if (!defaults) return Skip{"framework has no profile"};

  RunCase run;
  std::variant<ClusterSpec, Skip> cluster = row_cluster(row, library.catalog);
  if (Skip* skip = std::get_if<Skip>(&cluster)) return *skip;
  run.cluster = std::move(std::get<ClusterSpec>(cluster));
  std::variant<ModelSpec, Skip> model = row_model(row, library);
  if (Skip* skip = std::get_if<Skip>(&model)) return *skip;
  run.model = std::move(std::get<ModelSpec>(model));
  if (std::optional<Skip> skip = PlanReader(row, *defaults, run).read()) return *skip;
  run.framework = row_profile(row, *defaults);
  run.first_stage_memory = defaults->first_stage_memory;
  if (row.status == "OOM") {
    run.fits = false;
    return run;
  }
  run.fits = true;
  if (row.peak_mem_gb && *row.peak_mem_gb > 0) {
    // nanotron's column is in binary units, whatever its name: its allocated figures step by 4 b s h / 2^30.
    run.memory_is_reserved = row.notes.find("reserved") != std::string::npos;
    run.measured_memory = *row.peak_mem_gb * (defaults->first_stage_memory ? gibibytes(1).value : 1e9);
  }
  // Continuous-integration runs of toy models: what they time is not the step.
  if (row.notes.find("overheads dominate") != std::string::npos) return run;
  const std::variant<double, Skip> time = row_time(row, run, *defaults);
  if (const Skip* skip = std::get_if<Skip>(&time)) return *skip;
  run.measured_s = std::get<double>(time);
  return run;
}

}  // namespace tandem
