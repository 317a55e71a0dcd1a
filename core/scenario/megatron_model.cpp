// A model from Megatron-LM's shape flags: as the Hugging Face configuration that says the same.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/scenario/megatron_flags.h"
#include "core/scenario/value.h"

namespace tandem {
namespace {

using nlohmann::json;
using Flags = std::map<std::string, Word>;

struct FlagReader {
  const Flags& flags;
  Problems& problems;

  bool has(const std::string& name) const { return flags.contains(name); }
  Where where(const std::string& name) const { return has(name) ? flags.at(name).where : Where{}; }
  std::string word(const std::string& name, const std::string& absent) const {
    return has(name) ? flags.at(name).text : absent;
  }
  std::optional<std::int64_t> number(const std::string& name) const {
    if (!has(name)) return std::nullopt;
    const std::string& typed = flags.at(name).text;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
    if (error == std::errc() && end == typed.data() + typed.size() && value >= 1) return value;
    problems.add(where(name),
                 fmt::format("{} {}: a whole number from 1 on is wanted", name, text(KeyValue{typed})));
    return std::nullopt;
  }
  std::int64_t required(const std::string& name, const std::string& hint = {}) const {
    if (has(name)) return number(name).value_or(1);
    problems.add({}, fmt::format("{} is missing, and no model is given", name),
                 hint.empty() ? "give it, or --model with a shipped model's id or a config.json" : hint);
    return 1;
  }
  double fraction(const std::string& name, double absent) const {
    if (!has(name)) return absent;
    const std::string& typed = flags.at(name).text;
    double value = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
    if (error == std::errc() && end == typed.data() + typed.size() && value >= 0 && value < 1) return value;
    problems.add(where(name), fmt::format("{} {}: a share from 0 to 1 is wanted", name, text(KeyValue{typed})));
    return absent;
  }
};

constexpr std::string_view write_a_config = "write a Hugging Face config.json and give it as --model";

// llama and its kin: gated MLP, RMSNorm, rotary positions, no biases in products.
void describe_llama(const FlagReader& flags, json& config) {
  config["model_type"] = flags.has("--qk-layernorm")   ? "qwen3"
                         : flags.has("--add-qkv-bias") ? "qwen2"
                                                       : "llama";
  if (flags.has("--qk-layernorm") && flags.has("--add-qkv-bias"))
    flags.problems.add(flags.where("--add-qkv-bias"),
                       "--qk-layernorm and --add-qkv-bias together are no known model type",
                       std::string(write_a_config));
  const std::int64_t hidden = config["hidden_size"];
  config["num_key_value_heads"] = flags.has("--group-query-attention")
                                      ? flags.number("--num-query-groups").value_or(1)
                                      : config["num_attention_heads"].get<std::int64_t>();
  // Megatron's default for gated MLPs: two thirds of four times the width, to a multiple of 64.
  if (!flags.has("--ffn-hidden-size")) config["intermediate_size"] = hidden * 8 / 3 / 64 * 64;
  config["hidden_act"] = "silu";
  config["attention_dropout"] = flags.fraction("--attention-dropout", 0);
  if (!flags.has("--num-experts")) return;
  config["model_type"] = "mixtral";
  if (flags.has("--qk-layernorm") || flags.has("--add-qkv-bias") ||
      flags.has("--moe-shared-expert-intermediate-size") || flags.has("--moe-layer-freq"))
    flags.problems.add(
        flags.where("--num-experts"),
        "experts with these attention norms or biases, shared experts or mixed layers need more than flags",
        std::string(write_a_config));
  config["num_local_experts"] = flags.required("--num-experts");
  config["num_experts_per_tok"] = flags.number("--moe-router-topk").value_or(2);
  if (const auto width = flags.number("--moe-ffn-hidden-size")) config["intermediate_size"] = *width;
}

void describe_gpt2(const FlagReader& flags, json& config) {
  config["model_type"] = "gpt2";
  config["activation_function"] = flags.has("--squared-relu") ? "relu" : "gelu";
  config["attn_pdrop"] = flags.fraction("--attention-dropout", 0.1);
  config["resid_pdrop"] = config["embd_pdrop"] = flags.fraction("--hidden-dropout", 0.1);
}

void describe_neox(const FlagReader& flags, json& config) {
  config["model_type"] = "gpt_neox";
  config["use_parallel_residual"] = false;
  config["hidden_act"] = flags.has("--squared-relu") ? "relu" : "gelu";
  config["attention_dropout"] = flags.fraction("--attention-dropout", 0.1);
  config["hidden_dropout"] = flags.fraction("--hidden-dropout", 0.1);
}

}  // namespace

std::optional<std::string> config_from_flags(const Flags& model, Problems& problems) {
  const std::size_t faults = problems.list().size();
  const FlagReader flags{model, problems};
  for (const char* name : {"--multi-latent-attention", "--q-lora-rank", "--kv-lora-rank",
                           "--encoder-num-layers", "--decoder-num-layers"})
    if (flags.has(name))
      problems.add(flags.where(name), fmt::format("{} describes a model that flags alone cannot", name),
                   std::string(write_a_config));
  json config;
  config["num_hidden_layers"] = flags.required("--num-layers");
  const std::int64_t hidden = flags.required("--hidden-size");
  const std::int64_t heads = flags.required("--num-attention-heads");
  config["hidden_size"] = hidden;
  config["num_attention_heads"] = heads;
  config["intermediate_size"] =
      flags.number("--ffn-hidden-size").value_or(hidden <= (1LL << 40) ? 4 * hidden : 1);
  config["vocab_size"] =
      flags.has("--padded-vocab-size") && !flags.has("--vocab-size")
          ? flags.number("--padded-vocab-size").value_or(1)
          : flags.required("--vocab-size", "Megatron takes it from the tokenizer's files, which are not read");
  if (const auto positions = flags.number("--max-position-embeddings"))
    config["max_position_embeddings"] = *positions;
  if (const auto dim = flags.number("--kv-channels")) config["head_dim"] = *dim;
  const bool grouped = flags.has("--group-query-attention");
  if (flags.has("--num-query-groups") && !grouped)
    problems.add(flags.where("--num-query-groups"),
                 "--num-query-groups has no effect without --group-query-attention",
                 "add --group-query-attention");
  config["tie_word_embeddings"] = !flags.has("--untie-embeddings-and-output-weights");
  config["torch_dtype"] = "bfloat16";

  const bool gated = flags.has("--swiglu");
  const std::string norm = flags.word("--normalization", "LayerNorm");
  const std::string position = flags.has("--use-rotary-position-embeddings")
                                   ? "rope"
                                   : flags.word("--position-embedding-type", "learned_absolute");
  const bool plain = !gated && norm == "LayerNorm" && !flags.has("--disable-bias-linear") &&
                     !flags.has("--num-experts") && !flags.has("--qk-layernorm") &&
                     !flags.has("--add-qkv-bias") && !grouped;
  if (gated && norm == "RMSNorm" && position == "rope")
    describe_llama(flags, config);
  else if (plain && position == "learned_absolute")
    describe_gpt2(flags, config);
  else if (plain && position == "rope")
    describe_neox(flags, config);
  else
    problems.add(
        flags.where("--normalization"),
        fmt::format("{}, {}, {} positions{}{}: no model type that Tandem builds from flags has this mixture",
                    gated ? "a gated MLP" : "a plain MLP", norm, position, grouped ? ", grouped heads" : "",
                    flags.has("--disable-bias-linear") ? ", no biases" : ""),
        std::string(write_a_config));
  if (problems.list().size() > faults) return std::nullopt;
  return config.dump();
}

void compare_with_flags(const Flags& model, const ModelSpec& spec, Problems& problems) {
  const FlagReader flags{model, problems};
  const auto equal = [&](const std::string& name, std::int64_t known) {
    if (!flags.has(name)) return;
    const auto typed = flags.number(name);
    if (typed && *typed != known)
      problems.add(flags.where(name),
                   fmt::format("{} {} contradicts {}, which has {}", name, *typed, spec.name, known),
                   "remove the flag or the model");
  };
  const auto is = [&](const std::string& name, bool known, std::string_view otherwise) {
    if (flags.has(name) && !known)
      problems.add(flags.where(name), fmt::format("{} contradicts {}, which {}", name, spec.name, otherwise),
                   "remove the flag or the model");
  };
  const auto word = [&](const std::string& name, const std::string& known) {
    if (flags.has(name) && flags.word(name, "") != known)
      problems.add(
          flags.where(name),
          fmt::format("{} {} contradicts {}, which has {}", name, flags.word(name, ""), spec.name, known),
          "remove the flag or the model");
  };
  equal("--num-layers", spec.num_hidden_layers);
  equal("--decoder-num-layers", spec.num_hidden_layers);
  equal("--encoder-num-layers", spec.encoder_layers);
  equal("--hidden-size", spec.hidden_size);
  equal("--ffn-hidden-size", spec.intermediate_size);
  equal("--num-attention-heads", spec.num_attention_heads);
  equal("--num-query-groups", spec.num_key_value_heads);
  equal("--kv-channels", spec.head_dim);
  equal("--vocab-size", spec.vocab_size);
  equal("--max-position-embeddings", spec.max_position_embeddings);
  equal("--num-experts", spec.moe.experts);
  equal("--moe-router-topk", spec.moe.top_k);
  equal("--moe-ffn-hidden-size", spec.moe.expert_width);
  equal("--moe-shared-expert-intermediate-size", spec.moe.shared_width);
  equal("--q-lora-rank", spec.latent.q_lora_rank);
  equal("--kv-lora-rank", spec.latent.kv_lora_rank);
  equal("--qk-head-dim", spec.latent.qk_nope_head_dim);
  equal("--qk-pos-emb-head-dim", spec.latent.qk_rope_head_dim);
  equal("--v-head-dim", spec.latent.v_head_dim);
  word("--normalization", spec.norm == NormKind::RmsNorm ? "RMSNorm" : "LayerNorm");
  if (spec.position == PositionKind::Rotary) word("--position-embedding-type", "rope");
  if (spec.position == PositionKind::Learned) word("--position-embedding-type", "learned_absolute");
  is("--use-rotary-position-embeddings", spec.position == PositionKind::Rotary, "has no rotary positions");
  is("--swiglu", spec.gated_mlp, "has a plain MLP");
  is("--group-query-attention", spec.num_key_value_heads != spec.num_attention_heads, "has no grouped heads");
  is("--untie-embeddings-and-output-weights", !spec.tie_word_embeddings, "ties them");
  is("--disable-bias-linear", !spec.mlp_bias, "has biases");
  is("--add-qkv-bias", spec.qkv_bias, "has none");
  is("--qk-layernorm", spec.qk_norm, "has none");
  is("--multi-latent-attention", spec.latent.kv_lora_rank > 0, "has ordinary attention");
  is("--squared-relu", spec.activation == ActivationKind::Relu, "has another activation");
  for (const auto& [name, dropout] :
       {std::pair<std::string, bool>{"--attention-dropout", spec.attention_dropout},
        {"--hidden-dropout", spec.hidden_dropout}})
    if (flags.has(name) && (flags.fraction(name, 0) > 0) != dropout)
      problems.add(flags.where(name),
                   fmt::format("{} {} contradicts {}, which has {}", name, flags.word(name, ""), spec.name,
                               dropout ? "dropout" : "none"),
                   "set it in [model.override] instead");
}

}  // namespace tandem
