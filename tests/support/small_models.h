// Small models of several families and plans on them, for tests.
#pragma once
#include <string>

#include "core/lower/lower.h"
#include "core/model/model_spec.h"
#include "core/plan/plan.h"

namespace tandem::testing {

inline ModelSpec parse(const std::string& json, const std::string& name) {
  return parse_model(json, name + ".json", name);
}

// GPT-2 with dropout: biases, learned positions, tied embeddings.
inline ModelSpec small_gpt(int layers = 4) {
  return parse(
      R"({"model_type":"gpt2","n_layer":)" + std::to_string(layers) +
          R"(,"n_embd":512,"n_head":8,"n_positions":1024,"vocab_size":1024,"resid_pdrop":0.1,"attn_pdrop":0.1})",
      "small-gpt");
}
// Llama: gated MLP, grouped heads, separate output head, no dropout.
inline ModelSpec small_llama(int layers = 4) {
  return parse(
      R"({"model_type":"llama","num_hidden_layers":)" + std::to_string(layers) +
          R"(,"hidden_size":512,"num_attention_heads":8,"num_key_value_heads":4,"intermediate_size":1024,)"
          R"("vocab_size":1024,"tie_word_embeddings":false})",
      "small-llama");
}
inline ModelSpec small_mixtral(int layers = 4) {
  return parse(
      R"({"model_type":"mixtral","num_hidden_layers":)" + std::to_string(layers) +
          R"(,"hidden_size":512,"num_attention_heads":8,"num_key_value_heads":4,"intermediate_size":1024,)"
          R"("vocab_size":1024,"num_local_experts":8,"num_experts_per_tok":2})",
      "small-mixtral");
}
// Gemma 2: norms before and after attention and MLP, tied embeddings.
inline ModelSpec small_gemma2(int layers = 4) {
  return parse(R"({"model_type":"gemma2","num_hidden_layers":)" + std::to_string(layers) +
                   R"(,"hidden_size":512,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":64,)"
                   R"("intermediate_size":1024,"vocab_size":1024})",
               "small-gemma2");
}
inline ModelSpec small_t5(int layers = 2) {
  return parse(R"({"model_type":"t5","num_layers":)" + std::to_string(layers) +
                   R"(,"d_model":512,"num_heads":8,"d_kv":64,"d_ff":1024,"vocab_size":1024})",
               "small-t5");
}

struct Lowered {
  ModelGraph model;
  Plan plan;
  TaskGraph graph;
};

// Resolves for exactly as many devices as the plan's degrees ask for (dp 0 counts as 1).
inline Plan plan_for(const ModelSpec& spec, const ModelGraph& model, PlanSpec plan) {
  if (plan.seq_length == 0) plan.seq_length = 256;
  if (spec.encoder_layers > 0 && plan.decoder_seq_length == 0) plan.decoder_seq_length = plan.seq_length;
  if (plan.data_parallel_size == 0) plan.data_parallel_size = 1;
  const std::int64_t devices = plan.tensor_model_parallel_size * plan.pipeline_model_parallel_size *
                               plan.context_parallel_size * plan.data_parallel_size;
  return resolve_plan(plan, spec, model, {devices, 8});
}
inline Lowered lowered(const ModelSpec& spec, PlanSpec plan_spec) {
  ModelGraph model = build_model(spec);
  Plan plan = plan_for(spec, model, std::move(plan_spec));
  TaskGraph graph = lower(model, plan);
  return {std::move(model), std::move(plan), std::move(graph)};
}

}  // namespace tandem::testing
