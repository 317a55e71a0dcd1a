// Broken configurations: one clear problem each, at the line of the fault, and never a crash.
#include <gtest/gtest.h>

#include <random>

#include "tests/core/model/model_texts.h"

namespace tandem {
namespace {

// The first problem as text, or "read" when there is none.
std::string fault(const std::string& json) {
  try {
    build_model(parse(json));
  } catch (const InputError& error) {
    return text(error.problems().at(0)) + (error.problems().size() > 1 ? " (and more)" : "");
  }
  return "read";
}
std::string with_hidden_size(const std::string& value) {
  return replaced(tiny_llama(), "\"hidden_size\": 64", "\"hidden_size\": " + value);
}
std::string of_type(const std::string& type, const std::string& more) {
  return replaced(tiny_llama(more), "\"llama\"", "\"" + type + "\"");
}

TEST(BrokenModel, SizesAreWholeNumbersInRange) {
  const std::string at = "config.json:3:3: hidden_size = ";
  EXPECT_EQ(fault(with_hidden_size("-64")), at + "-64 is below 1");
  EXPECT_EQ(fault(with_hidden_size("0")), at + "0 is below 1");
  EXPECT_EQ(fault(with_hidden_size("-9223372036854775808")), at + "-9223372036854775808 is below 1");
  EXPECT_EQ(fault(with_hidden_size("64.0")), at + "64.0 is not a whole number");
  EXPECT_EQ(fault(with_hidden_size("64.5")), at + "64.5 is not a whole number");
  EXPECT_EQ(fault(with_hidden_size("\"64\"")), at + "\"64\" is not a whole number");
  EXPECT_EQ(fault(with_hidden_size("true")), at + "true is not a whole number");
  EXPECT_EQ(fault(with_hidden_size("[64]")), at + "[...] is not a whole number");
  const std::string absurd = " is absurd: at most 1099511627776 makes sense";
  EXPECT_EQ(fault(with_hidden_size("1099511627777")), at + "1099511627777" + absurd);
  EXPECT_EQ(fault(with_hidden_size("18446744073709551615")), at + "18446744073709551615" + absurd);
  EXPECT_EQ(fault(with_hidden_size("99999999999999999999")), at + "1e+20" + absurd);
  EXPECT_EQ(fault(with_hidden_size("1e300")), at + "1e+300" + absurd);
  EXPECT_EQ(fault(with_hidden_size("1e999")),
            "config.json: is not valid JSON: number overflow parsing '1e999'");
}
TEST(BrokenModel, ProductsDoNotOverflow) {
  EXPECT_EQ(fault(with_hidden_size("1099511627776")),
            "config.json: the model has 9.67e+24 parameters, more than can be counted exactly (2^53)\n"
            "  hint: look for a size with too many digits");
  EXPECT_EQ(fault(tiny_llama("\"head_dim\": 1099511627776")),
            "config.json:5:3: 4 attention heads of this size are absurdly wide: 4.4e+12 in all");
  EXPECT_EQ(fault(of_type("deepseek_v3", "\"n_shared_experts\": 1099511627776")),
            "config.json:8:3: n_shared_experts = 1099511627776 experts of width 2048 are absurdly wide");
  EXPECT_EQ(fault(replaced(tiny_llama(), "layers\": 2", "layers\": 1000000000")),
            "config.json:4:3: num_hidden_layers = 1000000000 is absurd: at most 10000 makes sense");
}
TEST(BrokenModel, MissingKeysAreNamed) {
  EXPECT_EQ(fault(with_hidden_size("null")),
            "config.json:3:3: hidden_size is null\n  hint: also read as n_embd, n_embed, d_model");
  EXPECT_EQ(fault(replaced(tiny_llama(), "\"hidden_size\": 64,", "")),
            "config.json: hidden_size is missing\n  hint: also read as n_embd, n_embed, d_model");
  EXPECT_EQ(fault(replaced(tiny_llama(), "\"model_type\": \"llama\",", "")),
            "config.json: model_type is missing\n  hint: for example \"model_type\": \"llama\"");
  EXPECT_EQ(
      fault(tiny_llama("\"text_config\": {\"model_type\": \"llama\"}")),
      "config.json:8:3: hidden_size is missing\n  hint: also read as n_embd, n_embed, d_model (and more)");
  EXPECT_EQ(fault(of_type("deepseek_v2", "\"n_routed_experts\": 8")),
            "config.json: num_experts_per_tok is missing");
  EXPECT_EQ(fault(of_type("brand_new", "\"num_key_value_heads\": 4")),
            "config.json: hidden_act is missing\n  hint: a model_type that is not known needs it");
}
TEST(BrokenModel, AMisspelledKeyNamesTheRightOne) {
  EXPECT_EQ(fault(replaced(tiny_llama(), "num_hidden_layers", "num_hiden_layers")),
            "config.json:4:3: unknown key num_hiden_layers\n  hint: did you mean num_hidden_layers?");
  EXPECT_EQ(fault(replaced(tiny_llama(), "vocab_size", "vocabsize")),
            "config.json:7:3: unknown key vocabsize\n  hint: did you mean vocab_size?");
  EXPECT_EQ(fault(replaced(tiny_llama(), "hidden_size", "Hidden-Size")),
            "config.json:3:3: unknown key Hidden-Size\n  hint: did you mean hidden_size?");
  EXPECT_EQ(fault(tiny_llama("\"num_key_values_heads\": 2")),
            "config.json:8:3: unknown key num_key_values_heads\n  hint: did you mean num_key_value_heads?");
  EXPECT_EQ(fault(of_type("lama", "")),
            "config.json:2:3: model_type = \"lama\" is not known\n  hint: did you mean \"llama\"?");
}
TEST(BrokenModel, OneSettingIsSaidOnce) {
  EXPECT_EQ(fault(tiny_llama("\"hidden_size\": 64")),
            "config.json:8:3: the key \"hidden_size\" appears twice\n  hint: keep one of them");
  EXPECT_EQ(fault(tiny_llama("\"n_embd\": 128")),
            "config.json:8:3: n_embd = 128 disagrees with hidden_size = 64\n"
            "  hint: both name the same setting: keep one");
  EXPECT_EQ(fault(tiny_llama("\"n_embd\": 64")), "read");
}
TEST(BrokenModel, ValuesHaveTheirTypes) {
  const std::string at = "config.json:8:3: ";
  EXPECT_EQ(fault(of_type("7", "\"tie_word_embeddings\": \"yes\"")).find("config.json"), 0u);
  EXPECT_EQ(fault(replaced(tiny_llama(), "\"llama\"", "7")),
            "config.json:2:3: model_type = 7 is not a text in quotes");
  EXPECT_EQ(fault(tiny_llama("\"tie_word_embeddings\": \"yes\"")),
            at + "tie_word_embeddings = \"yes\" is not true or false");
  EXPECT_EQ(fault(tiny_llama("\"hidden_act\": 3")), at + "hidden_act = 3 is not a text in quotes");
  EXPECT_EQ(fault(tiny_llama("\"attention_dropout\": 2")),
            at + "attention_dropout = 2 is not a number from 0 to 1");
  EXPECT_EQ(fault(tiny_llama("\"attention_dropout\": -1")),
            at + "attention_dropout = -1 is not a number from 0 to 1");
  EXPECT_EQ(fault(tiny_llama("\"text_config\": 3")), at + "text_config = 3 is not an object");
  EXPECT_EQ(
      fault(tiny_llama("\"torch_dtype\": \"int3\"")),
      at +
          "torch_dtype = \"int3\" is not a number format\n  hint: float32, bfloat16, float16 or float8_e4m3fn");
  EXPECT_EQ(fault(of_type("qwen3_moe", "\"mlp_only_layers\": 3")),
            at + "mlp_only_layers = 3 is not a list of whole numbers");
  EXPECT_EQ(fault(of_type("qwen3_moe", "\"mlp_only_layers\": [-1]")), at + "mlp_only_layers = -1 is below 0");
  EXPECT_EQ(fault(of_type("qwen3_moe", "\"layer_types\": \"x\"")),
            at + "layer_types = \"x\" is not a list of texts");
}
TEST(BrokenModel, SizesFitTogether) {
  const std::string at = "config.json:8:3: ";
  EXPECT_EQ(fault(with_hidden_size("65")),
            "config.json:5:3: num_attention_heads = 4 does not divide hidden_size = 65\n"
            "  hint: give head_dim when heads * head_dim is not hidden_size");
  EXPECT_EQ(fault(tiny_llama("\"num_key_value_heads\": 3")),
            at + "num_key_value_heads = 3 does not divide num_attention_heads = 4\n"
                 "  hint: each key-value head serves the same number of query heads");
  EXPECT_EQ(fault(of_type("qwen3_moe", "\"num_experts_per_tok\": 129")),
            at + "num_experts_per_tok = 129 exceeds the 128 experts of a layer");
  EXPECT_EQ(fault(of_type("qwen3_moe", "\"decoder_sparse_step\": 0")),
            at + "decoder_sparse_step = 0 is below 1");
  EXPECT_EQ(fault(of_type("qwen3_moe", "\"layer_types\": [\"full_attention\"]")),
            at + "layer_types has 1 entries for 2 layers");
  EXPECT_EQ(fault(of_type("vit", "\"patch_size\": 500")), at + "patch_size = 500 exceeds image_size = 224");
  EXPECT_EQ(fault(of_type("vit", "\"image_size\": 0")), at + "image_size = 0 is below 1");
  EXPECT_EQ(fault(tiny_llama("\"partial_rotary_factor\": 1.5")),
            at + "partial_rotary_factor = 1.5 is not a number from 0 to 1");
}
TEST(BrokenModel, WhatCannotBeModelledIsRefused) {
  const std::string at = "config.json:8:3: ";
  EXPECT_EQ(fault(of_type("opt", "\"do_layer_norm_before\": false")),
            at + "do_layer_norm_before = false is not modelled\n"
                 "  hint: OPT with norms after the residual sums (opt-350m) is not modelled");
  EXPECT_EQ(fault(of_type("opt", "\"word_embed_proj_dim\": 32")),
            at + "word_embed_proj_dim differs from hidden_size\n"
                 "  hint: OPT with projected embeddings (opt-350m) is not modelled");
  EXPECT_EQ(fault(of_type("qwen3_moe", "\"layer_types\": [\"linear_attention\", \"full_attention\"]")),
            at + "layer_types[0] is neither full_attention nor sliding_attention\n"
                 "  hint: other kinds of attention are not modelled");
  EXPECT_EQ(fault(tiny_llama("\"hidden_act\": \"mish\"")).find(at + "hidden_act = \"mish\" is not known"), 0u);
}
TEST(BrokenModel, FilesThatAreNotJson) {
  const std::string early = "\n  hint: the file ends too early: was it copied whole?";
  const std::string expected = "\n  hint: a Hugging Face config.json is expected";
  EXPECT_EQ(fault(""), "config.json: the file is empty" + expected);
  EXPECT_EQ(fault(" \n\t"), "config.json: the file is empty" + expected);
  EXPECT_EQ(fault("[]"), "config.json:1:1: holds no object {...} but a JSON array" + expected);
  EXPECT_EQ(fault("3"), "config.json:1:1: holds no object {...} but a JSON number" + expected);
  EXPECT_NE(fault(tiny_llama().substr(0, 60)).find(early), std::string::npos);
  EXPECT_EQ(fault(tiny_llama().substr(0, 60)).find("config.json:4:"), 0u);
  EXPECT_EQ(fault(tiny_llama() + "}").find("config.json:9:1: is not valid JSON"), 0u);
  EXPECT_EQ(fault(with_hidden_size("NaN")).find("config.json:3:18: is not valid JSON"), 0u);
  EXPECT_EQ(fault(with_hidden_size("64, // wide")).find("config.json:3:22: is not valid JSON"), 0u);
  EXPECT_EQ(fault(std::string("\x89PNG\r\n\x1a\n\0\0\0", 11)),
            "config.json:3:1: holds a zero byte: this is a binary file");
  EXPECT_EQ(fault(tiny_llama() + std::string("\0]]}}", 5)),
            "config.json:9:1: holds a zero byte: this is a binary file");
  EXPECT_EQ(fault("\xff\xfe{").find("config.json:1:1: is not valid JSON"), 0u);
  EXPECT_EQ(fault(std::string(200000, '[')), "config.json: is nested more than 100 deep");
  EXPECT_EQ(fault(with_hidden_size(std::string(100000, '[') + std::string(100000, ']'))),
            "config.json: is nested more than 100 deep");
}
TEST(BrokenModel, AllFaultsAreReportedAtOnce) {
  try {
    parse("{}");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().size(), 6u);
  }
}
TEST(BrokenModel, FilesThatCannotBeRead) {
  EXPECT_THROW(read_model(TANDEM_SOURCE_DIR "/scenarios"), InputError);
  EXPECT_THROW(read_model("/dev/zero"), InputError);
  EXPECT_THROW(read_model("/no/such/config.json"), InputError);
}
TEST(BrokenModel, RandomDamageIsReadOrRefused) {
  std::mt19937 random(7);
  const std::string alphabet = "{}[]\":,0123456789.-eE tnulfasr\\\x01\xff";
  const std::string whole =
      of_type("deepseek_v3", "\"rope_scaling\": {\"factor\": 8.0}, \"layer_types\": [\"a\"]");
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    for (int n = 1 + static_cast<int>(random() % 3); n > 0; --n) {
      damaged[random() % damaged.size()] = alphabet[random() % alphabet.size()];
    }
    if (random() % 8 == 0) damaged.resize(random() % damaged.size());
    if (fault(damaged) != "read") ++refused;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tandem
