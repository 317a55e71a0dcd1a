// Models of every family with few parameters, and plans on them.
#pragma once
#include <string>
#include <vector>

#include "core/model/model_spec.h"
#include "core/plan/plan.h"
#include "exec/training/parameter_shard.h"

namespace tandem::testing {

struct Model {
  ModelSpec spec;
  ModelGraph graph;
};
inline Model model_of(const std::string& json, const std::string& name) {
  ModelSpec spec = parse_model(json, name + ".json", name);
  ModelGraph graph = build_model(spec);
  return {std::move(spec), std::move(graph)};
}

// 50 tokens: padded to 56 on one rank, to 64 on two or four.
inline Model tiny_gpt() {
  return model_of(R"({"model_type":"gpt2","n_layer":4,"n_embd":32,"n_head":4,"n_positions":64,"vocab_size":50,)"
                  R"("resid_pdrop":0,"attn_pdrop":0,"embd_pdrop":0})",
                  "tiny-gpt");
}
inline Model tiny_llama() {
  return model_of(
      R"({"model_type":"llama","num_hidden_layers":4,"hidden_size":32,"num_attention_heads":4,)"
      R"("num_key_value_heads":2,"intermediate_size":48,"vocab_size":50,"tie_word_embeddings":false})",
      "tiny-llama");
}
inline Model tiny_mixtral() {
  return model_of(R"({"model_type":"mixtral","num_hidden_layers":4,"hidden_size":32,"num_attention_heads":4,)"
                  R"("num_key_value_heads":2,"intermediate_size":48,"vocab_size":50,"num_local_experts":4,)"
                  R"("num_experts_per_tok":2})",
                  "tiny-mixtral");
}
inline Model tiny_bert() {
  return model_of(R"({"model_type":"bert","num_hidden_layers":4,"hidden_size":32,"num_attention_heads":4,)"
                  R"("intermediate_size":48,"vocab_size":50,"max_position_embeddings":64,"type_vocab_size":2,)"
                  R"("hidden_dropout_prob":0,"attention_probs_dropout_prob":0})",
                  "tiny-bert");
}
inline Model tiny_t5() {
  return model_of(
      R"({"model_type":"t5","num_layers":2,"d_model":32,"num_heads":4,"d_kv":8,"d_ff":48,"vocab_size":50})",
      "tiny-t5");
}
inline std::vector<Model> tiny_models() {
  std::vector<Model> models;
  models.push_back(tiny_gpt());
  models.push_back(tiny_llama());
  models.push_back(tiny_mixtral());
  models.push_back(tiny_bert());
  models.push_back(tiny_t5());
  return models;
}

struct Degrees {
  std::int64_t tp = 1, cp = 1, dp = 1, pp = 1, ep = 1, etp = 0;
  std::int64_t microbatches = 4;
};
inline std::string text(const Degrees& d) {
  return "tp " + std::to_string(d.tp) + " cp " + std::to_string(d.cp) + " dp " + std::to_string(d.dp) + " pp " +
         std::to_string(d.pp) + " ep " + std::to_string(d.ep) + " etp " + std::to_string(d.etp);
}

inline Plan plan_of(const Model& model, const Degrees& degrees, PlanSpec spec = {}) {
  const bool experts = model.graph.has_experts();
  spec.tensor_model_parallel_size = degrees.tp;
  spec.context_parallel_size = degrees.cp;
  spec.data_parallel_size = degrees.dp;
  spec.pipeline_model_parallel_size = degrees.pp;
  spec.expert_model_parallel_size = experts ? degrees.ep : 1;
  spec.expert_tensor_parallel_size = experts ? degrees.etp : 0;
  spec.sequence_parallel = experts && degrees.tp > 1;
  spec.global_batch_size = spec.micro_batch_size * degrees.dp * degrees.microbatches;
  spec.make_vocab_size_divisible_by = degrees.tp == 1 ? 8 : 16;
  if (spec.seq_length == 0) spec.seq_length = 16;
  if (model.graph.has_encoder() && spec.decoder_seq_length == 0) spec.decoder_seq_length = 8;
  const std::int64_t ranks = degrees.tp * degrees.cp * degrees.dp * degrees.pp;
  return resolve_plan(spec, model.spec, model.graph, {ranks, 8});
}

inline ParameterShard shard_named(const Model& model, const Plan& plan, RankId rank, const std::string& name) {
  for (const ParameterShard& shard : parameter_shards(model.graph, plan, rank))
    if (shard.name == name) return shard;
  throw std::runtime_error("rank " + std::to_string(rank.value) + " has no " + name);
}

// Place among the ranks that hold the same part for data parallelism.
inline std::uint32_t replica_of(const Plan& plan, RankId rank, const ParameterShard& shard) {
  return plan.mesh.place(rank, shard.expert ? Axis::ExpertData : Axis::DataContext).place;
}

}  // namespace tandem::testing
