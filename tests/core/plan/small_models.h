// Small models for plan tests: each family that plans treat differently.
#pragma once
#include <string>
#include <vector>

#include "core/model/model_spec.h"

namespace tandem {

// 8 blocks, 8 heads, 4 key-value heads, width 64, MLP 192, 1000 words.
inline ModelSpec small_llama() {
  ModelSpec spec;
  spec.name = "small-llama";
  spec.model_type = "llama";
  spec.hidden_size = 64;
  spec.num_hidden_layers = 8;
  spec.num_attention_heads = 8;
  spec.num_key_value_heads = 4;
  spec.head_dim = 8;
  spec.intermediate_size = 192;
  spec.vocab_size = 1000;
  spec.max_position_embeddings = 4096;
  spec.rotary_dim = 8;
  return spec;
}

// The same with 8 experts of width 32 in each block, 2 a token.
inline ModelSpec small_mixtral() {
  ModelSpec spec = small_llama();
  spec.name = "small-mixtral";
  spec.model_type = "mixtral";
  spec.moe_layers.assign(8, true);
  spec.moe = {.experts = 8, .top_k = 2, .expert_width = 32};
  return spec;
}

// 4 encoder blocks and 6 decoder blocks.
inline ModelSpec small_t5() {
  ModelSpec spec = small_llama();
  spec.name = "small-t5";
  spec.model_type = "t5";
  spec.num_hidden_layers = 6;
  spec.encoder_layers = 4;
  spec.num_key_value_heads = 8;
  spec.position = PositionKind::Relative;
  spec.relative_buckets = 32;
  return spec;
}

// 16 patches and a class token; 1024 learned positions would be a text model's.
inline ModelSpec small_vit() {
  ModelSpec spec = small_llama();
  spec.name = "small-vit";
  spec.model_type = "vit";
  spec.num_key_value_heads = 8;
  spec.vocab_size = 0;
  spec.max_position_embeddings = 0;
  spec.has_vocabulary_head = false;
  spec.causal = false;
  spec.gated_mlp = false;
  spec.position = PositionKind::Learned;
  spec.image_size = 64;
  spec.patch_size = 16;
  spec.num_channels = 3;
  return spec;
}

inline ModelSpec small_gpt2() {
  ModelSpec spec = small_llama();
  spec.name = "small-gpt2";
  spec.model_type = "gpt2";
  spec.num_key_value_heads = 8;
  spec.max_position_embeddings = 1024;
  spec.position_rows = 1024;
  spec.position = PositionKind::Learned;
  spec.gated_mlp = false;
  spec.tie_word_embeddings = true;
  return spec;
}

inline std::vector<ModelSpec> small_models() {
  return {small_llama(), small_mixtral(), small_t5(), small_vit(), small_gpt2()};
}

}  // namespace tandem
