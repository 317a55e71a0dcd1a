// The list of what is missing.
#include "exec/check_executable.h"

#include <fmt/format.h>

#include "exec/training/parameter_shard.h"

namespace tandem {
namespace {

class Check {
 public:
  Check(const ModelSpec& spec, const ModelGraph& model, const Plan& plan)
      : spec_(spec), model_(model), plan_(plan) {}

  std::vector<Problem> run() {
    problems_ = check_parameter_shards(model_, plan_);
    model();
    tokens();
    numbers();
    return std::move(problems_);
  }

 private:
  void refuse_if(bool condition, std::string_view key, std::string what, std::string hint) {
    if (condition)
      problems_.push_back({plan_.spec.where_of(std::string(key)), std::move(what), std::move(hint)});
  }
  void model_lacks(bool condition, std::string what, std::string hint) {
    if (condition) problems_.push_back({{.file = spec_.source}, std::move(what), std::move(hint)});
  }

  void model() {
    model_lacks(spec_.hidden_dropout || spec_.attention_dropout, "dropout cannot be executed",
                "set the model's dropout probabilities to 0");
    model_lacks(spec_.latent.kv_lora_rank > 0, "multi-head latent attention cannot be executed", "");
    model_lacks(spec_.qk_norm, "norms of queries and keys cannot be executed", "");
    model_lacks(spec_.logit_softcap, "a cap on the logits cannot be executed", "");
    model_lacks(spec_.image_size > 0 || !spec_.has_vocabulary_head,
                "a model without a vocabulary head cannot be executed", "language models can");
    model_lacks(spec_.pooler, "BERT's pooler has no loss to learn from and cannot be executed",
                "\"add_pooling_layer\": false leaves it out");
    model_lacks(spec_.moe.shared_gate || spec_.moe.router_bias, "this router cannot be executed",
                "Mixtral's softmax over the chosen experts can");
    model_lacks(spec_.position == PositionKind::Alibi, "ALiBi position biases cannot be executed", "");
  }

  void tokens() {
    const PlanSpec& spec = plan_.spec;
    const MeshShape& mesh = plan_.mesh.shape();
    refuse_if(spec.tp_comm_overlap, "tp_comm_overlap", "tp_comm_overlap cannot be executed", "leave it out");
    const std::int64_t rows = plan_.tokens.batch * plan_.tokens.main / mesh.cp;
    refuse_if(spec.sequence_parallel && rows % mesh.tp != 0, "sequence_parallel",
              fmt::format("{} tokens of a microbatch do not divide by tp = {}", rows, mesh.tp),
              "choose seq_length as a multiple of tp times cp");
    const bool shares_heads = mesh.cp > 1 && spec.cp_comm_type == ContextCommunication::AllToAll;
    for (std::uint32_t o = 0; shares_heads && o < model_.size(); ++o) {
      const auto* attention = std::get_if<Attention>(&model_[OperatorId(o)].kind);
      if (!attention || (attention->kv_heads / mesh.tp) % mesh.cp == 0) continue;
      refuse_if(true, "cp_comm_type",
                fmt::format("{} key-value heads cannot be shared by tp {} x cp {} ranks", attention->kv_heads,
                            mesh.tp, mesh.cp),
                "cp_comm_type = \"p2p\" needs no share of heads");
      break;
    }
    const bool biased = spec_.relative_buckets > 0;
    refuse_if(biased && mesh.pp > 1, "pipeline_model_parallel_size",
              "relative position biases belong to the first block alone and cannot be executed in a pipeline",
              "\"relative_attention_num_buckets\": 0 in the model leaves them out");
    refuse_if(biased && shares_heads, "cp_comm_type",
              "relative position biases cannot be executed when ranks share heads",
              "cp_comm_type = \"p2p\" can");
    refuse_if(mesh.cp > 1 && spec.attention_backend == AttentionBackend::Unfused, "attention_backend",
              "unfused attention cannot be executed under context parallelism",
              "attention_backend = \"flash\" can");
  }

  void numbers() {
    const PlanSpec& spec = plan_.spec;
    refuse_if(spec.dtype != DType::Fp32 && spec.dtype != DType::Bf16, "dtype",
              fmt::format("{} cannot be executed", name(spec.dtype)), "use fp32 or bf16");
    refuse_if(spec.main_grads_dtype != DType::Fp32 || !spec.grad_reduce_in_fp32, "grad_reduce_in_fp32",
              "gradients are kept and reduced in fp32 only",
              "leave main_grads_dtype and grad_reduce_in_fp32 out");
    refuse_if(spec.main_params_dtype != DType::Fp32 || spec.exp_avg_dtype != DType::Fp32 ||
                  spec.exp_avg_sq_dtype != DType::Fp32,
              "main_params_dtype", "the optimizer's state is kept in fp32 only",
              "leave main_params_dtype, exp_avg_dtype and exp_avg_sq_dtype out");
  }

  const ModelSpec& spec_;
  const ModelGraph& model_;
  const Plan& plan_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_executable(const ModelSpec& spec, const ModelGraph& model, const Plan& plan) {
  return Check(spec, model, plan).run();
}

}  // namespace tandem
