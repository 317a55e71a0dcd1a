// The table of model types; structure and class defaults from Hugging Face transformers.
#include "core/model/model_family.h"

#include <string>

namespace tandem {
namespace {

constexpr ModelFamily families[] = {
    {.model_type = "llama"},
    {.model_type = "mistral", .kv_heads = 8, .window = 4096},
    {.model_type = "mixtral", .kv_heads = 8, .experts = 8, .top_k = 2},
    {.model_type = "qwen2", .qkv_bias = true, .kv_heads = 32, .window = 4096},
    {.model_type = "qwen2_moe",
     .qkv_bias = true,
     .kv_heads = 16,
     .experts = 60,
     .top_k = 4,
     .expert_width = 1408,
     .shared_experts = 5632,
     .window = 4096},
    {.model_type = "qwen3", .qk_norm = true, .kv_heads = 32, .head_dim = 128, .window = 4096},
    {.model_type = "qwen3_moe",
     .qk_norm = true,
     .kv_heads = 4,
     .experts = 128,
     .top_k = 8,
     .expert_width = 768,
     .window = 4096},
    {.model_type = "deepseek_v2", .expert_width = 1407},
    {.model_type = "deepseek_v3", .experts = 256, .top_k = 8, .expert_width = 2048, .shared_experts = 1},
    {.model_type = "gemma2",
     .activation = ActivationKind::Gelu,
     .tied = true,
     .post_norms = true,
     .kv_heads = 4,
     .head_dim = 256,
     .window = 4096},
    {.model_type = "gemma3_text",
     .activation = ActivationKind::Gelu,
     .tied = true,
     .qk_norm = true,
     .post_norms = true,
     .kv_heads = 4,
     .head_dim = 256,
     .heads = 8,
     .vocabulary = 262208,
     .window = 4096},
    {.model_type = "gpt2",
     .norm = NormKind::LayerNorm,
     .activation = ActivationKind::Gelu,
     .position = PositionKind::Learned,
     .gated = false,
     .tied = true,
     .qkv_bias = true,
     .output_bias = true,
     .mlp_bias = true,
     .hidden_dropout = 0.1,
     .attention_dropout = 0.1,
     .positions = 1024},
    {.model_type = "gpt_neox",
     .norm = NormKind::LayerNorm,
     .activation = ActivationKind::Gelu,
     .gated = false,
     .qkv_bias = true,
     .output_bias = true,
     .mlp_bias = true,
     .rotated = 0.25},
    {.model_type = "opt",
     .norm = NormKind::LayerNorm,
     .activation = ActivationKind::Relu,
     .position = PositionKind::Learned,
     .gated = false,
     .tied = true,
     .qkv_bias = true,
     .output_bias = true,
     .mlp_bias = true,
     .hidden_dropout = 0.1,
     .positions = 2048},
    {.model_type = "bloom",
     .norm = NormKind::LayerNorm,
     .activation = ActivationKind::Gelu,
     .position = PositionKind::Alibi,
     .gated = false,
     .tied = true,
     .qkv_bias = true,
     .output_bias = true,
     .mlp_bias = true},
    {.model_type = "bert",
     .norm = NormKind::LayerNorm,
     .activation = ActivationKind::Gelu,
     .position = PositionKind::Learned,
     .gated = false,
     .causal = false,
     .tied = true,
     .qkv_bias = true,
     .output_bias = true,
     .mlp_bias = true,
     .hidden_dropout = 0.1,
     .attention_dropout = 0.1,
     .positions = 512},
    {.model_type = "t5",
     .activation = ActivationKind::Relu,
     .position = PositionKind::Relative,
     .gated = false,
     .tied = true,
     .hidden_dropout = 0.1,
     .attention_dropout = 0.1,
     .head_dim = 64},
    {.model_type = "vit",
     .norm = NormKind::LayerNorm,
     .activation = ActivationKind::Gelu,
     .position = PositionKind::Learned,
     .gated = false,
     .causal = false,
     .qkv_bias = true,
     .output_bias = true,
     .mlp_bias = true},
};

}  // namespace

const ModelFamily* find_family(std::string_view model_type) {
  if (model_type == "gemma3") model_type = "gemma3_text";  // its text_config, or a file that holds it directly
  for (const ModelFamily& family : families) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::vector<std::string> known_model_types() {
  std::vector<std::string> names;
  for (const ModelFamily& family : families) names.emplace_back(family.model_type);
  names.emplace_back("gemma3");
  return names;
}

}  // namespace tandem
