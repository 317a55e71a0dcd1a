// What a Hugging Face config.json says, resolved: the file decides, then the class default of model_type, then
// an error.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_graph.h"
#include "core/model/operator.h"
#include "core/problem/problem.h"

namespace tandem {

// One MoE block's shape; experts == 0 means a dense MLP.
struct MoeSpec {
  std::int64_t experts = 0, top_k = 0, expert_width = 0;
  std::int64_t shared_width = 0;  // summed width of the shared experts, 0: none
  bool shared_gate = false;       // qwen2_moe: the shared expert is scaled by a sigmoid of the token
  bool router_bias = false;       // deepseek_v3: a score-correction bias per expert (not trained by gradient)
};

// Multi-head latent attention (DeepSeek); kv_lora_rank == 0 means ordinary attention.
struct LatentAttentionSpec {
  std::int64_t q_lora_rank = 0, kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
};

enum class PositionKind : std::uint8_t { Rotary, Learned, Relative, Alibi, None };

struct ModelSpec {
  std::string name;        // folder or file name, for reports
  std::string model_type;  // Hugging Face's
  std::string source;      // path it was read from
  std::int64_t hidden_size = 0, num_hidden_layers = 0, num_attention_heads = 0, num_key_value_heads = 0,
               head_dim = 0;
  std::int64_t intermediate_size = 0, vocab_size = 0, max_position_embeddings = 0;
  std::int64_t encoder_layers = 0;  // t5: encoder; num_hidden_layers counts the decoder
  bool causal = true, gated_mlp = true, tie_word_embeddings = false, has_vocabulary_head = true;
  bool qkv_bias = false, attention_output_bias = false, mlp_bias = false, qk_norm = false;
  bool post_norms = false;         // gemma2/3: norms after attention and MLP too
  bool parallel_residual = false;  // gpt_neox
  bool hidden_dropout = false, attention_dropout = false;
  NormKind norm = NormKind::RmsNorm;
  ActivationKind activation = ActivationKind::Silu;
  PositionKind position = PositionKind::Rotary;
  std::int64_t rotary_dim = 0;
  std::vector<std::int64_t> windows;  // a layer's sliding window, 0: none; empty: no windows at all
  std::vector<bool> moe_layers;       // which blocks are MoE; empty: none
  MoeSpec moe;
  LatentAttentionSpec latent;
  std::int64_t token_types = 0;                                   // bert
  std::int64_t image_size = 0, patch_size = 0, num_channels = 0;  // vit
  DType dtype = DType::Fp32;                                      // of the stored weights (torch_dtype / dtype)
  std::vector<std::string> unknown_keys;                          // kept and echoed, without effect
  std::vector<std::string> notes;     // what the file asks for and is not modelled, one sentence each
  bool norm_after_add = false;        // bert: each norm follows its residual sum
  bool embedding_norm = false;        // bert, bloom: a norm right after the embeddings
  bool pooler = false;                // bert: dense + tanh over the first token
  bool logit_softcap = false;         // gemma2: tanh cap on the logits
  std::int64_t position_rows = 0;     // rows of the learned position table (opt has two more than positions)
  std::int64_t relative_buckets = 0;  // t5: buckets of the relative position bias, in each stack's first block
};

// Reads a config.json. Every fault is an InputError with file, line, key and hint (all faults at once).
ModelSpec read_model(const std::string& path);
// The same from text already read; `path` is only used in messages.
ModelSpec parse_model(const std::string& json_text, const std::string& path, const std::string& name);

// Lowers a specification into operators. Throws InputError when a size makes no sense (heads that do not
// divide, …).
ModelGraph build_model(const ModelSpec&);

// Faults of a specification as values: sizes out of range, heads that do not divide, more than 2^53 parameters.
// `where` gives the place of a key, when there is a file. Both parse_model and build_model call it.
std::vector<Problem> check_spec(const ModelSpec&, const std::function<Where(std::string_view key)>& where);

// Parameters by closed formula, in doubles (exact below 2^53, never overflowing): the independent check of
// build_model.
double parameter_formula(const ModelSpec&);

// Tokens of one sequence when the model fixes it (vit: patches + 1), otherwise 0.
std::int64_t fixed_sequence_length(const ModelSpec&);

}  // namespace tandem
