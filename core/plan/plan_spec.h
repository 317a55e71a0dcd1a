// What users say about splitting and ordering a training step, as typed in: Megatron-Core's keys, nothing
// resolved yet.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem/problem.h"
#include "core/units/dtype.h"
#include "core/units/quantity.h"

namespace tandem {

enum class ScheduleKind : std::uint8_t {
  GPipe,  // all forwards, then all backwards
  OneForwardOneBackward,
  Interleaved,   // 1F1B over vpp chunks a stage
  ZeroBubbleH1,  // weight gradients fill the drain; memory of 1F1B
  ZeroBubbleV,   // two chunks a stage in a V; embedding and head on the same stage
  DualPipe,      // microbatches enter from both ends; each stage holds two chunks' parameters
};
enum class RecomputeGranularity : std::uint8_t { None, Selective, Full };
enum class RecomputeMethod : std::uint8_t { Uniform, Block };
enum class RecomputeModule : std::uint8_t {
  CoreAttention,
  Mlp,
  Moe,
  LayerNorm,
  MoeActivation,
  MlaUpProjection
};
enum class ContextCommunication : std::uint8_t { RingP2p, AllGather, AllToAll };
enum class AttentionBackend : std::uint8_t { Flash, Unfused };
enum class OptimizerKind : std::uint8_t { Adam, Sgd };

std::string_view name(ScheduleKind);  // "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"
std::optional<ScheduleKind> parse_schedule_kind(std::string_view);

struct PlanSpec {
  // Degrees; 0: not given. dp is derived from the devices when not given.
  std::int64_t tensor_model_parallel_size = 1, pipeline_model_parallel_size = 1, context_parallel_size = 1;
  std::int64_t expert_model_parallel_size = 1, expert_tensor_parallel_size = 0, data_parallel_size = 0;
  std::int64_t virtual_pipeline_model_parallel_size = 0;  // chunks a stage; 0: 1, or what the schedule needs
  std::vector<std::int64_t> pipeline_layers;              // blocks a chunk in model order; empty: even
  bool sequence_parallel = false;
  ContextCommunication cp_comm_type = ContextCommunication::RingP2p;
  std::optional<ScheduleKind> schedule;  // default 1f1b, interleaved when vpp > 1
  std::string rank_order = "tp-cp-ep-dp-pp";
  std::vector<std::uint32_t> placement;  // device of each rank; empty: rank r on device r

  std::int64_t micro_batch_size = 1, global_batch_size = 0;  // 0: micro_batch_size * dp
  std::int64_t seq_length = 0, decoder_seq_length = 0;  // 0: the model's own where it fixes one, else a problem

  std::int64_t zero_stage = 0;       // 0 … 3
  std::int64_t sharding_degree = 0;  // hybrid sharding: ranks a shard group; 0: all of dp x cp
  std::int64_t ddp_bucket_size = 0;  // elements; 0: max(40e6, 1e6 * dp), Megatron's rule
  bool overlap_grad_reduce = false, overlap_param_gather = false, tp_comm_overlap = false,
       overlap_p2p_comm = true;

  RecomputeGranularity recompute_granularity = RecomputeGranularity::None;
  RecomputeMethod recompute_method = RecomputeMethod::Uniform;
  std::int64_t recompute_num_layers = 0;           // uniform: blocks a unit (0: 1); block: blocks a chunk
  std::vector<RecomputeModule> recompute_modules;  // selective; empty: core attention

  DType dtype = DType::Bf16;  // of activations and products; fp8: bf16 tensors, fp8 products
  bool grad_reduce_in_fp32 = true;
  // A weight gradient is added to the main gradient by the product that makes it; otherwise by a pass of its
  // own.
  bool gradient_accumulation_fusion = true;
  DType main_params_dtype = DType::Fp32, main_grads_dtype = DType::Fp32;
  DType exp_avg_dtype = DType::Fp32, exp_avg_sq_dtype = DType::Fp32;
  OptimizerKind optimizer = OptimizerKind::Adam;
  bool optimizer_cpu_offload = false;  // states and update on the host
  AttentionBackend attention_backend = AttentionBackend::Flash;
  bool gradient_clipping = true;                    // a norm over all gradients each step
  std::int64_t make_vocab_size_divisible_by = 128;  // times tp: Megatron pads the vocabulary; 1: not at all

  // Host work a step and input read a microbatch, where known.
  Seconds host_seconds_per_step;
  Bytes data_bytes_per_sample;

  std::map<std::string, Where> where;  // key -> where it was typed, for problems
  Where where_of(const std::string& key) const;
};

}  // namespace tandem
