// Plans in the short form that tests write and print: "tp=2 sp pp=2 schedule=zb-h1 zero=1".
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>

#include "core/plan/plan_spec.h"

namespace tandem::testing {

inline PlanSpec plan_of(const std::string& text) {
  PlanSpec spec;
  spec.dtype = DType::Fp32;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto number = [&] { return std::stoll(value); };
    if (key == "tp")
      spec.tensor_model_parallel_size = number();
    else if (key == "sp")
      spec.sequence_parallel = true;
    else if (key == "pp")
      spec.pipeline_model_parallel_size = number();
    else if (key == "vpp")
      spec.virtual_pipeline_model_parallel_size = number();
    else if (key == "cp")
      spec.context_parallel_size = number();
    else if (key == "cp_comm")
      spec.cp_comm_type = value == "ring"     ? ContextCommunication::RingP2p
                          : value == "gather" ? ContextCommunication::AllGather
                                              : ContextCommunication::AllToAll;
    else if (key == "dp")
      spec.data_parallel_size = number();
    else if (key == "ep")
      spec.expert_model_parallel_size = number();
    else if (key == "etp")
      spec.expert_tensor_parallel_size = number();
    else if (key == "zero")
      spec.zero_stage = number();
    else if (key == "sharding")
      spec.sharding_degree = number();
    else if (key == "mbs")
      spec.micro_batch_size = number();
    else if (key == "gbs")
      spec.global_batch_size = number();
    else if (key == "bucket")
      spec.ddp_bucket_size = number();
    else if (key == "overlap")
      spec.overlap_grad_reduce = true;
    else if (key == "overlap_gather")
      spec.overlap_param_gather = true;
    else if (key == "blocking_p2p")
      spec.overlap_p2p_comm = false;
    else if (key == "unfused")
      spec.attention_backend = AttentionBackend::Unfused;
    else if (key == "early_gradients")
      spec.gradient_accumulation_fusion = false;
    else if (key == "bf16")
      spec.dtype = DType::Bf16;
    else if (key == "sgd")
      spec.optimizer = OptimizerKind::Sgd;
    else if (key == "schedule")
      spec.schedule = parse_schedule_kind(value).value();
    else if (key == "recompute")
      spec.recompute_granularity =
          value == "full" ? RecomputeGranularity::Full : RecomputeGranularity::Selective;
    else if (key == "module")
      spec.recompute_modules.push_back(value == "mlp"         ? RecomputeModule::Mlp
                                       : value == "moe"       ? RecomputeModule::Moe
                                       : value == "layernorm" ? RecomputeModule::LayerNorm
                                       : value == "moe_act"   ? RecomputeModule::MoeActivation
                                                              : RecomputeModule::CoreAttention);
    else
      throw std::invalid_argument("no such word in a test's plan: " + word);
  }
  return spec;
}

}  // namespace tandem::testing
