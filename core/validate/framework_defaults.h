// What a training framework does where a table leaves a cell empty: its documented defaults, by its printed
// name.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/plan/plan_spec.h"

namespace tandem {

// How TFLOP/s that a source prints without a convention count, when the framework's own formula is known.
enum class FlopsConvention : std::uint8_t {
  Unknown,
  Model,                    // Narayanan 2021 without recomputation, whole score matrix: "6N+attn_full"
  ModelCausal,              // as Model, half of the score matrix: "6N+attn_half"
  WithRecompute,            // Narayanan 2021, equation 3: a second forward pass is counted, whole score matrix
  Parameters,               // 6 flops a parameter and token, no attention: "6N"
  ParametersWithRecompute,  // "8N"
};
// Of a cell of the column flops_formula; Unknown for an empty cell and for conventions that are not modelled.
FlopsConvention flops_convention(std::string_view cell);

struct FrameworkDefaults {
  std::string profile;  // of scenarios/calibrations/frameworks.toml
  DType dtype = DType::Bf16;
  bool dtype_known = true;                // false: runs in several formats, a blank cell says nothing
  bool sequence_parallel_with_tp = true;  // where sp is blank
  std::int64_t zero_stage = 0;            // where zero_stage is blank
  bool overlap_grad_reduce = true, overlap_param_gather = false, tp_comm_overlap = false,
       overlap_p2p_comm = true;
  bool grad_reduce_in_fp32 = true;
  DType main_grads_dtype = DType::Fp32;
  bool gradient_accumulation_fusion = true;
  AttentionBackend attention = AttentionBackend::Flash;
  bool fully_sharded = false;       // blank tp, pp and cp mean 1: data parallelism is all there is
  bool interleaves = false;         // blank vpp: as many chunks a stage as divide evenly, at most five
  bool balances_by_cost = false;    // blocks are dealt to stages by parameters, the head counted (nanotron)
  bool first_stage_memory = false;  // the memory column is of the first stage
  FlopsConvention flops = FlopsConvention::Unknown;  // of TFLOP/s without a stated formula
  // What separate checkpointing modules "selective" means.
  std::vector<RecomputeModule> selective = {RecomputeModule::CoreAttention};
};

// By the printed name ("Megatron-LM (Jan 2021)", "NeMo 24.07"); nothing for frameworks without a profile.
std::optional<FrameworkDefaults> framework_defaults(std::string_view framework);

}  // namespace tandem
