// Aliases, class defaults, absent against null: a config.json means what Hugging Face's classes mean by it.
#include <gtest/gtest.h>

#include "tests/core/model/model_texts.h"

namespace tandem {
namespace {

std::string config(const std::string& type, const std::string& more = "") {
  return replaced(tiny_llama(more), "\"llama\"", "\"" + type + "\"");
}

TEST(ReadModel, GptNamesAreAliases) {
  const ModelSpec spec =
      parse(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257})");
  EXPECT_EQ(spec.hidden_size, 768);
  EXPECT_EQ(spec.num_hidden_layers, 12);
  EXPECT_EQ(spec.num_attention_heads, 12);
  EXPECT_EQ(spec.intermediate_size, 4 * 768);
  EXPECT_EQ(spec.position_rows, 1024);
  EXPECT_TRUE(spec.tie_word_embeddings);
  EXPECT_TRUE(spec.hidden_dropout);
}
TEST(ReadModel, AnAbsentNumberOfKeyValueHeadsTakesTheClassDefault) {
  const std::string heads = "\"num_attention_heads\": 4";
  EXPECT_EQ(parse(config("llama")).num_key_value_heads, 4);
  EXPECT_EQ(parse(replaced(config("mistral"), heads, "\"num_attention_heads\": 32")).num_key_value_heads, 8);
  EXPECT_EQ(parse(replaced(config("mixtral"), heads, "\"num_attention_heads\": 16")).num_key_value_heads, 8);
  EXPECT_EQ(parse(config("qwen3_moe")).num_key_value_heads, 4);
  EXPECT_EQ(parse(replaced(config("qwen2"), heads, "\"num_attention_heads\": 32")).num_key_value_heads, 32);
}
TEST(ReadModel, ANullNumberOfKeyValueHeadsMeansAllHeads) {
  const std::string text = config("mistral", "\"num_key_value_heads\": null, \"head_dim\": null");
  EXPECT_EQ(parse(text).num_key_value_heads, 4);
  EXPECT_EQ(parse(text).head_dim, 16);
}
TEST(ReadModel, HeadsTimesHeadDimNeedNotBeTheHiddenSize) {
  EXPECT_EQ(parse(config("llama", "\"head_dim\": 128")).head_dim, 128);
  EXPECT_EQ(parse(config("qwen3", "\"num_key_value_heads\": 2")).head_dim, 128);
  EXPECT_EQ(parse(config("gemma2")).head_dim, 256);
}
TEST(ReadModel, QwenHasBiasesWithoutSayingSo) {
  const ModelSpec qwen = parse(config("qwen2", "\"num_key_value_heads\": 2"));
  EXPECT_TRUE(qwen.qkv_bias);
  EXPECT_FALSE(qwen.attention_output_bias);
  EXPECT_FALSE(parse(config("llama")).qkv_bias);
  EXPECT_TRUE(parse(config("llama", "\"attention_bias\": true")).attention_output_bias);
  EXPECT_TRUE(parse(config("llama", "\"mlp_bias\": true")).mlp_bias);
}
TEST(ReadModel, TheNewerNameOfTheNumberFormatWins) {
  EXPECT_EQ(parse(config("llama")).dtype, DType::Fp32);
  EXPECT_EQ(parse(config("llama", "\"torch_dtype\": \"float16\"")).dtype, DType::Fp16);
  EXPECT_EQ(parse(config("llama", "\"torch_dtype\": \"float16\", \"dtype\": \"bfloat16\"")).dtype, DType::Bf16);
}

using Windows = std::vector<std::int64_t>;
TEST(ReadModel, GemmaAlternatesWindows) {
  const std::string gemma3 =
      replaced(config("gemma3_text", "\"sliding_window\": 512"), "layers\": 2", "layers\": 7");
  EXPECT_EQ(parse(config("gemma2")).windows, (Windows{4096, 0}));
  EXPECT_EQ(parse(gemma3).windows, (Windows{512, 512, 512, 512, 512, 0, 512}));
}
TEST(ReadModel, QwenIgnoresItsWindowUnlessToldToUseIt) {
  const std::string window = "\"num_key_value_heads\": 4, \"sliding_window\": 128, \"max_window_layers\": 1";
  EXPECT_EQ(parse(config("qwen2", window)).windows, Windows{});
  EXPECT_EQ(parse(config("qwen2", window + ", \"use_sliding_window\": true")).windows, (Windows{0, 128}));
}
TEST(ReadModel, LayerTypesDecideWindows) {
  EXPECT_EQ(parse(config("mistral",
                         "\"num_key_value_heads\": 2, \"layer_types\": "
                         "[\"full_attention\", \"sliding_attention\"]"))
                .windows,
            (Windows{0, 4096}));
  EXPECT_EQ(parse(config("mistral", "\"num_key_value_heads\": 2, \"sliding_window\": null")).windows,
            Windows{});
}

TEST(ReadModel, MixtralExpertsHaveTheIntermediateSize) {
  const ModelSpec spec = parse(config("mixtral", "\"num_key_value_heads\": 2"));
  EXPECT_EQ(spec.moe.experts, 8);
  EXPECT_EQ(spec.moe.top_k, 2);
  EXPECT_EQ(spec.moe.expert_width, 96);
  EXPECT_EQ(spec.moe_layers, (std::vector<bool>{true, true}));
}
TEST(ReadModel, TheMapOfExpertLayersIsKept) {
  const std::string six = "layers\": 6";
  const std::string deepseek =
      replaced(config("deepseek_v2",
                      "\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"n_shared_experts\": 2, "
                      "\"first_k_dense_replace\": 1, \"moe_layer_freq\": 2"),
               "layers\": 2", six);
  EXPECT_EQ(parse(deepseek).moe_layers, (std::vector<bool>{false, false, true, false, true, false}));
  EXPECT_EQ(parse(deepseek).moe.shared_width, 2 * 1407);
  const std::string qwen =
      replaced(config("qwen3_moe", "\"decoder_sparse_step\": 2, \"mlp_only_layers\": [3]"), "layers\": 2", six);
  EXPECT_EQ(parse(qwen).moe_layers, (std::vector<bool>{false, true, false, false, false, true}));
}
TEST(ReadModel, AbsentExpertsMeanADenseModel) {
  EXPECT_TRUE(parse(config("deepseek_v2")).moe_layers.empty());
  EXPECT_TRUE(parse(config("llama", "\"num_experts\": 8")).moe_layers.empty());
  EXPECT_EQ(parse(config("llama", "\"num_experts\": 8")).unknown_keys, std::vector<std::string>{"num_experts"});
}
TEST(ReadModel, LatentAttentionTellsNullFromAbsent) {
  EXPECT_EQ(parse(config("deepseek_v2")).latent.q_lora_rank, 1536);
  EXPECT_EQ(parse(config("deepseek_v2", "\"q_lora_rank\": null")).latent.q_lora_rank, 0);
  EXPECT_EQ(parse(config("deepseek_v2")).latent.kv_lora_rank, 512);
}

TEST(ReadModel, ATextConfigIsTheModel) {
  const ModelSpec spec =
      parse(R"({"model_type": "gemma3", "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 9},
    "text_config": {"model_type": "gemma3_text", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}})");
  EXPECT_EQ(spec.hidden_size, 128);
  EXPECT_EQ(spec.vocab_size, 262208);
  EXPECT_EQ(spec.dtype, DType::Bf16);
  EXPECT_EQ(spec.unknown_keys, std::vector<std::string>{"vision_config"});
  EXPECT_EQ(spec.notes.size(), 1u);
}
TEST(ReadModel, T5HasTwoStacks) {
  const ModelSpec spec = parse(R"({"model_type": "t5", "d_model": 64, "d_kv": 32, "num_heads": 4, "d_ff": 128,
    "num_layers": 3, "num_decoder_layers": 2, "vocab_size": 100, "feed_forward_proj": "gated-gelu"})");
  EXPECT_EQ(spec.encoder_layers, 3);
  EXPECT_EQ(spec.num_hidden_layers, 2);
  EXPECT_EQ(spec.head_dim, 32);
  EXPECT_TRUE(spec.gated_mlp);
  EXPECT_EQ(spec.activation, ActivationKind::Gelu);
}
TEST(ReadModel, AnImageModelFixesItsSequence) {
  const ModelSpec spec = parse(R"({"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 128})");
  EXPECT_EQ(fixed_sequence_length(spec), 197);
  EXPECT_EQ(fixed_sequence_length(parse(tiny_llama())), 0);
}
TEST(ReadModel, RotationMayBePartial) {
  EXPECT_EQ(parse(config("gpt_neox")).rotary_dim, 4);
  EXPECT_EQ(parse(config("llama")).rotary_dim, 16);
}

TEST(ReadModel, AStrangerNeedsAllCanonicalKeys) {
  const ModelSpec spec = parse(
      config("brand_new", "\"num_key_value_heads\": 2, \"hidden_act\": \"silu\", \"layer_norm_eps\": 1e-5"));
  EXPECT_EQ(spec.norm, NormKind::LayerNorm);
  EXPECT_EQ(spec.num_key_value_heads, 2);
  EXPECT_EQ(spec.notes.size(), 1u);
  EXPECT_THROW(parse(config("brand_new")), InputError);
}
TEST(ReadModel, WhatIsNotModelledIsSaid) {
  const ModelSpec spec = parse(config("llama",
                                      "\"num_nextn_predict_layers\": 1, \"quantization_config\": "
                                      "{\"quant_method\": \"fp8\"}, \"flavour\": \"plum\""));
  ASSERT_EQ(spec.notes.size(), 2u);
  EXPECT_EQ(spec.notes[0],
            "num_nextn_predict_layers = 1: multi-token prediction is not modelled; its layers are left out");
  EXPECT_EQ(spec.unknown_keys, (std::vector<std::string>{"flavour", "quantization_config"}));
}
TEST(ReadModel, AFolderNamesItsModel) {
  EXPECT_EQ(read_model(TANDEM_SOURCE_DIR "/scenarios/models/gpt2/config.json").name, "gpt2");
}

}  // namespace
}  // namespace tandem
