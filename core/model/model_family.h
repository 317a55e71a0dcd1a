// What a model_type implies without saying it: the structure of its network and the defaults of its
// configuration class.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_spec.h"

namespace tandem {

// Where a key would be required but real files leave it out, a default of the class in Hugging Face
// transformers (src/transformers/models/*/configuration_*.py) stands here.
struct ModelFamily {
  std::string_view model_type;
  NormKind norm = NormKind::RmsNorm;
  ActivationKind activation = ActivationKind::Silu;
  PositionKind position = PositionKind::Rotary;
  bool gated = true;
  bool causal = true;
  bool tied = false;
  // Biases of the products that have one without a key; a key of the file may say otherwise.
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool qk_norm = false, post_norms = false;
  double hidden_dropout = 0, attention_dropout = 0;
  std::optional<std::int64_t> kv_heads = {};  // absent num_key_value_heads; none: as many as heads
  std::optional<std::int64_t> head_dim = {};  // absent head_dim; none: hidden_size / heads
  std::optional<std::int64_t> heads = {}, vocabulary = {}, positions = {};  // absent; none: the key is required
  std::int64_t experts = 0;                                                 // absent number of experts
  std::optional<std::int64_t> top_k = {}, expert_width = {};
  std::int64_t shared_experts = 0;          // absent n_shared_experts, or the shared width of qwen2_moe
  std::optional<std::int64_t> window = {};  // absent sliding_window
  double rotated = 1;                       // absent partial_rotary_factor
};

// The family of a model_type, or a null pointer.
const ModelFamily* find_family(std::string_view model_type);
std::vector<std::string> known_model_types();

}  // namespace tandem
