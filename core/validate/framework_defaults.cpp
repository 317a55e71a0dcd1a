// The defaults of frameworks, each with where they are documented.
#include "core/validate/framework_defaults.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace tandem {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// Megatron-LM of 2020 to 2022 (its repository at those dates): fp16, gradients kept and summed in fp32 after
// the last microbatch, no sharding, attention over stored scores; TFLOP/s count the recomputed forward pass.
FrameworkDefaults megatron_2022() {
  FrameworkDefaults d;
  d.profile = "megatron-2022";
  d.dtype = DType::Fp16;
  d.sequence_parallel_with_tp = false;
  d.overlap_grad_reduce = false;
  d.attention = AttentionBackend::Unfused;
  d.flops = FlopsConvention::WithRecompute;
  return d;
}

// Megatron-Core, NeMo and Megatron-Bridge performance recipes (their documentation and scripts): sequence
// parallelism beside tensor parallelism, the distributed optimizer, overlap of all communication, interleaved
// pipelines.
FrameworkDefaults megatron_core() {
  FrameworkDefaults d;
  d.profile = "megatron";
  d.zero_stage = 1;
  d.overlap_param_gather = true;
  d.tp_comm_overlap = true;
  d.interleaves = true;
  d.flops = FlopsConvention::Model;
  return d;
}

// NVIDIA's MLPerf entries (their configuration files): NeMo on Megatron-Core, in several number formats.
FrameworkDefaults mlperf() {
  FrameworkDefaults d = megatron_core();
  d.dtype_known = false;
  return d;
}

// Megatron-DeepSpeed (its examples): fp16 gradients, reduced after the last microbatch, attention over stored
// scores.
FrameworkDefaults megatron_deepspeed() {
  FrameworkDefaults d = megatron_2022();
  d.profile = "deepspeed";
  d.grad_reduce_in_fp32 = false;
  d.main_grads_dtype = DType::Fp16;
  d.gradient_accumulation_fusion = false;
  return d;
}

// DeepSpeed ZeRO-3 (its configuration's defaults): parameters gathered in 16 bits, gradients reduced in 16
// bits.
FrameworkDefaults deepspeed_zero3() {
  FrameworkDefaults d = megatron_deepspeed();
  d.profile = "deepspeed-zero3";
  d.zero_stage = 3;
  d.overlap_grad_reduce = true;
  d.fully_sharded = true;
  d.flops = FlopsConvention::Unknown;
  return d;
}

// nanotron (its documentation): bf16, gradients accumulated and reduced in fp32, blocks dealt to stages by
// cost.
FrameworkDefaults nanotron() {
  FrameworkDefaults d;
  d.profile = "nanotron";
  d.gradient_accumulation_fusion = false;
  d.balances_by_cost = true;
  d.first_stage_memory = true;
  d.overlap_p2p_comm = false;
  d.flops = FlopsConvention::Model;
  return d;
}

// PyTorch FSDP as llm-foundry sets it (amp_bf16, mixed precision DEFAULT): bf16 gathers, gradients reduced in
// fp32 or bf16 by its version; here bf16.
FrameworkDefaults fsdp() {
  FrameworkDefaults d;
  d.profile = "fsdp";
  d.gradient_accumulation_fusion = false;
  d.zero_stage = 3;
  d.grad_reduce_in_fp32 = false;
  d.fully_sharded = true;
  d.flops = FlopsConvention::Model;
  return d;
}

// torchtitan (its configuration files): FSDP2 with bf16 gathers and fp32 reductions.
FrameworkDefaults torchtitan() {
  FrameworkDefaults d = fsdp();
  d.profile = "torchtitan";
  d.grad_reduce_in_fp32 = true;
  d.flops = FlopsConvention::Unknown;
  return d;
}

struct Named {
  std::string_view part;  // of the lower-case name
  FrameworkDefaults (*make)();
};

// The first part that a name contains decides.
constexpr std::array names = {
    Named{"nanotron", nanotron},
    Named{"llm-foundry", fsdp},
    Named{"torchtitan", torchtitan},
    Named{"megatron-deepspeed ulysses", deepspeed_zero3},
    Named{"deepspeed zero-3", deepspeed_zero3},
    Named{"deepspeed + hf", deepspeed_zero3},
    Named{"deepspeed 0.", deepspeed_zero3},
    Named{"megatron-deepspeed", megatron_deepspeed},
    Named{"megatron-core", megatron_core},
    Named{"megatron-bridge", megatron_core},
    Named{"ngc", mlperf},
    Named{"nemo 2", megatron_core},
    Named{"nemo megatron 2", megatron_core},
    Named{"nemo", mlperf},
    Named{"pytorch nvidia release", mlperf},
    Named{"megatron-lm", megatron_2022},
};

}  // namespace

FlopsConvention flops_convention(std::string_view cell) {
  if (cell == "6N+attn_full") return FlopsConvention::Model;
  if (cell == "6N+attn_half") return FlopsConvention::ModelCausal;
  if (cell == "6N") return FlopsConvention::Parameters;
  if (cell.starts_with("8N+attn_full")) return FlopsConvention::WithRecompute;
  if (cell.starts_with("8N")) return FlopsConvention::ParametersWithRecompute;
  return FlopsConvention::Unknown;
}

std::optional<FrameworkDefaults> framework_defaults(std::string_view framework) {
  const std::string name = lower(framework);
  for (const Named& known : names)
    if (name.find(known.part) != std::string::npos) return known.make();
  return std::nullopt;
}

}  // namespace tandem
