// The model of a row: dimensions as a Hugging Face configuration of the family that the row's parameters fit.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/model/find_model.h"
#include "core/validate/run_case.h"

namespace tandem {
namespace {

std::string simple(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

ModelSpec parse(const RunRow& row, const nlohmann::json& config) {
  return parse_model(config.dump(), row.id, row.model_name.empty() ? row.id : row.model_name);
}

nlohmann::json llama(const RunRow& row) {
  const std::int64_t heads = *row.heads;
  return {{"model_type", "llama"},
          {"hidden_size", *row.hidden},
          {"intermediate_size", row.ffn_hidden.value_or(4 * *row.hidden)},
          {"num_hidden_layers", *row.layers},
          {"num_attention_heads", heads},
          {"num_key_value_heads", row.kv_heads.value_or(heads)},
          {"vocab_size", *row.vocab},
          {"max_position_embeddings", *row.seq_len},
          {"tie_word_embeddings", row.notes.find("tied_embeddings=True") != std::string::npos},
          {"torch_dtype", "bfloat16"}};
}

nlohmann::json gpt(const RunRow& row) {
  // MPT (llm-foundry) trains without dropout; so do all recipes of recent years.
  const bool dropout = row.precision == "fp16" || has(simple(row.framework), "megatrondeepspeed");
  const double rate = dropout ? 0.1 : 0.0;
  return {{"model_type", "gpt2"},
          {"n_embd", *row.hidden},
          {"n_inner", row.ffn_hidden.value_or(4 * *row.hidden)},
          {"n_layer", *row.layers},
          {"n_head", *row.heads},
          {"n_positions", *row.seq_len},
          {"n_ctx", *row.seq_len},
          {"vocab_size", *row.vocab},
          {"attn_pdrop", rate},
          {"embd_pdrop", rate},
          {"resid_pdrop", rate},
          {"torch_dtype", "float16"}};
}

nlohmann::json experts(const RunRow& row, const std::string& name) {
  nlohmann::json config = llama(row);
  if (has(name, "qwen")) {
    config["model_type"] = "qwen3_moe";
    config["head_dim"] = 128;
    config["num_experts"] = *row.moe_experts;
    config["moe_intermediate_size"] = row.ffn_hidden.value_or(4 * *row.hidden);
  } else {
    config["model_type"] = "mixtral";
    config["num_local_experts"] = *row.moe_experts;
    if (has(name, "gptoss")) config["head_dim"] = 64;
  }
  config["num_experts_per_tok"] = row.moe_topk.value_or(2);
  return config;
}

}  // namespace

std::variant<ModelSpec, Skip> row_model(const RunRow& row, const Library& library) {
  const std::string name = simple(row.model_name);
  if (has(name, "bert"))
    return Skip{"encoder with masked head: how many positions are predicted is not stated"};
  if (has(name, "nemotron3") || has(name, "nemotronh")) return Skip{"state-space layers are not modelled"};
  for (const char* other : {"t5", "vit", "mamba", "dlrm", "unet", "diffusion"})
    if (name.starts_with(other)) return Skip{"not a decoder-only transformer"};
  if (!row.layers || !row.hidden || !row.heads || *row.layers == 0 || *row.hidden == 0 || *row.heads == 0)
    return Skip{"model dimensions are missing"};
  if (!row.seq_len || *row.seq_len == 0) return Skip{"sequence length is missing"};
  RunRow known = row;
  if (!row.vocab || *row.vocab == 0) known.vocab = 51200;  // GPT-2's, padded: the Megatron recipes' own
  try {
    if (has(name, "deepseekv3")) {
      ModelSpec model = read_model(find_model("deepseek-v3", library.folder));
      return model;
    }
    if (has(name, "kimi") || has(name, "deepseekv4")) return Skip{"a model that the columns do not describe"};
    if (row.moe_experts && *row.moe_experts > 0) return parse(known, experts(known, name));
    // Gated or not: whichever comes nearer to the printed number of parameters.
    ModelSpec gated = parse(known, llama(known)), plain = parse(known, gpt(known));
    bool is_gated = row.attention != "standard";
    if (has(name, "gpt") || has(name, "mpt") || has(name, "opt") || has(name, "nemotron")) is_gated = false;
    if (has(name, "llama") || has(name, "mistral") || has(name, "qwen")) is_gated = true;
    if (row.params_b && *row.params_b > 0) {
      const double printed = *row.params_b * 1e9;
      const double with = std::abs(std::log(parameter_formula(gated) / printed));
      const double without = std::abs(std::log(parameter_formula(plain) / printed));
      if (std::abs(with - without) > 0.05) is_gated = with < without;
    }
    return is_gated ? gated : plain;
  } catch (const InputError&) {
    return Skip{"model dimensions do not fit together"};
  }
}

}  // namespace tandem
