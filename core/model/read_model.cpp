// From a config.json to a ModelSpec: the file decides, then the class default of model_type, then a problem.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/model/config_file.h"
#include "core/model/config_keys.h"
#include "core/model/model_family.h"
#include "core/model/model_spec.h"
#include "core/model/read_layers.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// A config.json has a few kilobytes; the largest (label lists) a few megabytes.
constexpr std::size_t largest_file = 16u << 20;

// An unknown model_type is read as a llama by its own keys; what has no default there must then be in the file.
constexpr ModelFamily stranger = {.model_type = ""};

class Reader {
 public:
  Reader(const std::string& json_text, const std::string& path, const std::string& name)
      : file_(json_text, path) {
    spec_.name = name;
    spec_.source = path;
  }

  ModelSpec read() {
    family();
    misspellings();
    sizes();
    heads();
    latent_attention();
    biases_and_norms();
    read_activation(file_, *family_, spec_);
    positions();
    if (type_ == "t5") encoder_decoder();
    if (type_ == "vit") image();
    if (type_ == "bert") bidirectional();
    read_windows(file_, *family_, spec_);
    read_experts(file_, *family_, spec_);
    dropouts();
    head_and_dtype();
    unmodelled();
    if (file_.problems().empty()) {
      for (Problem& problem : check_spec(spec_, [this](std::string_view key) { return place(key); })) {
        file_.problems().add(std::move(problem));
      }
    }
    file_.problems().throw_if_any();
    return std::move(spec_);
  }

 private:
  Where place(std::string_view key) const {
    // The specification's names are canonical: find the alias that the file uses.
    static const std::pair<std::string_view, std::vector<std::string_view>> aliases[] = {
        {"num_hidden_layers", {"n_layer", "num_layers", "num_decoder_layers"}},
        {"hidden_size", {"n_embd", "n_embed", "d_model"}},
        {"num_attention_heads", {"n_head", "num_heads"}},
        {"head_dim", {"d_kv"}},
        {"intermediate_size", {"n_inner", "ffn_dim", "d_ff"}},
        {"max_position_embeddings", {"n_positions"}},
        {"num_experts", {"num_local_experts", "n_routed_experts", "num_routed_experts"}},
        {"rotary_pct", {"partial_rotary_factor"}},
    };
    Where where = file_.where(key);
    for (const auto& [canonical, others] : aliases) {
      if (canonical != key) continue;
      for (auto other = others.begin(); other != others.end() && where.line == 0; ++other)
        where = file_.where(*other);
    }
    return where;
  }

  // Decides the family, and steps into text_config where a multimodal file wraps its language model.
  void family() {
    const std::string outer = file_.word({"model_type"}).value_or("");
    type_ = outer;
    if (file_.enter("text_config")) {
      type_ = file_.word({"model_type"}).value_or(outer);
      spec_.notes.push_back(
          "text_config is the model; what surrounds it (a vision tower, a projector) is not modelled");
    }
    if (type_ == "gemma3") type_ = "gemma3_text";
    spec_.model_type = type_;
    const ModelFamily* known = find_family(type_);
    if (known) {
      family_ = known;
      return;
    }
    // A missing or misspelled type would silently lose its class defaults.
    const std::string nearest = nearest_name(type_, known_model_types());
    if (type_.empty()) {
      family_ = find_family("llama");  // so that reading goes on without further complaints
      if (!file_.has("model_type")) {
        file_.fault("model_type", "model_type is missing", "for example \"model_type\": \"llama\"");
      }
    } else if (!nearest.empty() && edit_distance(type_, nearest) <= 1 && !has_digit_change(type_, nearest)) {
      family_ = find_family(nearest);
      file_.fault("model_type", fmt::format("model_type = \"{}\" is not known", type_),
                  fmt::format("did you mean \"{}\"?", nearest));
    } else {
      spec_.notes.push_back(
          fmt::format("model_type \"{}\" is not known: read like a llama by its own keys", type_));
    }
  }
  // qwen4 beside qwen3 is a newer model, not a slip.
  static bool has_digit_change(std::string_view a, std::string_view b) {
    const auto letters = [](std::string_view text) {
      std::string result;
      std::copy_if(text.begin(), text.end(), std::back_inserter(result),
                   [](char c) { return c < '0' || c > '9'; });
      return result;
    };
    return letters(a) == letters(b);
  }
  bool strange() const { return family_ == &stranger; }

  // Keys that look like a known one: the file's author meant that one.
  void misspellings() {
    file_.ignore(inert_keys());
    for (const std::string& key : file_.unused()) {
      if (is_effective_key(key)) continue;
      const std::string meant = misspelled_key(key);
      if (meant.empty()) continue;
      file_.fault(key, fmt::format("unknown key {}", key), fmt::format("did you mean {}?", meant));
      file_.ignore({key});
      file_.forgive(meant);
    }
  }

  void sizes() {
    spec_.hidden_size = file_.size({"hidden_size", "n_embd", "n_embed", "d_model"});
    if (type_ != "t5") spec_.num_hidden_layers = file_.size({"num_hidden_layers", "n_layer", "num_layers"});
    spec_.num_attention_heads =
        file_.size({"num_attention_heads", "n_head", "num_heads"}, {.absent = family_->heads});
    if (type_ != "vit") spec_.vocab_size = file_.size({"vocab_size"}, {.absent = family_->vocabulary});
    SizeRule inner;
    // GPT-2 and BLOOM leave the MLP's width out: four times the hidden size.
    if (type_ == "gpt2" || type_ == "bloom") inner.absent = 4 * spec_.hidden_size;
    spec_.intermediate_size = file_.size({"intermediate_size", "n_inner", "ffn_dim", "d_ff"}, inner);
  }

  void heads() {
    const std::int64_t heads = spec_.num_attention_heads;
    const bool latent = family_->model_type.starts_with("deepseek") || file_.has("kv_lora_rank");
    const bool may_group = family_->model_type != "gpt2" && spec_.model_type != "t5" && type_ != "bert" &&
                           type_ != "vit" && type_ != "opt" && type_ != "bloom" && type_ != "gpt_neox";
    spec_.num_key_value_heads = heads;
    if (may_group) {
      // Absent takes the class default, null as many as there are heads. A stranger has no class to ask.
      SizeRule rule{.absent = family_->kv_heads.value_or(heads), .null = heads};
      if (strange() && !latent) rule = SizeRule{};
      spec_.num_key_value_heads = file_.size({"num_key_value_heads"}, rule);
    }
    if (latent) return;
    // MHA-only classes (gpt2, bert, …) have no head_dim: it is hidden_size / heads.
    if (may_group || type_ == "t5") {
      if (const auto given = file_.size({"head_dim", "d_kv"}, {.absent = family_->head_dim.value_or(0)});
          given > 0) {
        spec_.head_dim = given;
        return;
      }
    }
    spec_.head_dim = spec_.hidden_size / std::max<std::int64_t>(heads, 1);
    if (spec_.head_dim * heads != spec_.hidden_size && file_.problems().empty()) {
      file_.problems().add(
          place("num_attention_heads"),
          fmt::format("num_attention_heads = {} does not divide hidden_size = {}", heads, spec_.hidden_size),
          may_group ? "give head_dim when heads * head_dim is not hidden_size" : "");
    }
  }

  void latent_attention() {
    const bool deepseek = type_ == "deepseek_v2" || type_ == "deepseek_v3";
    if (!deepseek && !file_.has("kv_lora_rank")) return;
    // Defaults of DeepseekV2Config and DeepseekV3Config; a stranger must say all.
    const auto rule = [&](std::int64_t value) { return deepseek ? SizeRule{.absent = value} : SizeRule{}; };
    LatentAttentionSpec& latent = spec_.latent;
    latent.kv_lora_rank = file_.size({"kv_lora_rank"}, rule(512));
    // Null, unlike absent, means one full product for q.
    latent.q_lora_rank = file_.size({"q_lora_rank"}, {.absent = deepseek ? 1536 : 0, .null = 0});
    latent.qk_nope_head_dim = file_.size({"qk_nope_head_dim"}, rule(128));
    latent.qk_rope_head_dim = file_.size({"qk_rope_head_dim"}, rule(64));
    latent.v_head_dim = file_.size({"v_head_dim"}, rule(128));
    file_.find({"head_dim"});  // some files repeat qk_rope_head_dim here
    // Read for form's sake: every head has its own keys and values once they are expanded.
    spec_.num_key_value_heads = spec_.num_attention_heads;
  }

  void biases_and_norms() {
    spec_.norm = family_->norm;
    if (strange() && !file_.has("rms_norm_eps") &&
        (file_.has("layer_norm_eps") || file_.has("layer_norm_epsilon"))) {
      spec_.norm = NormKind::LayerNorm;
    }
    file_.find({"rms_norm_eps"});
    file_.find({"layer_norm_eps"});
    file_.find({"layer_norm_epsilon"});
    spec_.qkv_bias = family_->qkv_bias;
    spec_.attention_output_bias = family_->output_bias;
    spec_.mlp_bias = family_->mlp_bias;
    if (type_ == "opt") {
      const bool biased = file_.flag({"enable_bias"}, true);
      spec_.qkv_bias = spec_.attention_output_bias = spec_.mlp_bias = biased;
      refuse_unless(file_.flag({"layer_norm_elementwise_affine"}, true), "layer_norm_elementwise_affine",
                    "norms without weights are not modelled");
      refuse_unless(file_.flag({"do_layer_norm_before"}, true), "do_layer_norm_before",
                    "OPT with norms after the residual sums (opt-350m) is not modelled");
      if (file_.size({"word_embed_proj_dim"}, {.absent = spec_.hidden_size}) != spec_.hidden_size) {
        file_.fault("word_embed_proj_dim", "word_embed_proj_dim differs from hidden_size",
                    "OPT with projected embeddings (opt-350m) is not modelled");
      }
    } else if (type_ == "vit" || type_ == "qwen2_moe") {
      spec_.qkv_bias = file_.flag({"qkv_bias"}, spec_.qkv_bias);
    } else if (type_ == "gpt_neox" || llama_like()) {
      const bool biased = file_.flag({"attention_bias"}, type_ == "gpt_neox");
      spec_.qkv_bias = biased || (strange() && file_.flag({"qkv_bias"}, false));
      spec_.attention_output_bias = biased;
      if (type_ == "llama" || strange()) spec_.mlp_bias = file_.flag({"mlp_bias"}, false);
    }
    spec_.qk_norm = family_->qk_norm;
    spec_.post_norms = family_->post_norms;
    if (type_ == "gpt_neox") spec_.parallel_residual = file_.flag({"use_parallel_residual"}, true);
    if (type_ == "bloom") spec_.embedding_norm = true;
  }
  // The classes with an attention_bias key that is false when absent.
  bool llama_like() const {
    return type_ == "llama" || type_ == "qwen3" || type_ == "qwen3_moe" || type_ == "gemma2" ||
           type_ == "gemma3_text" || type_.starts_with("deepseek") || strange();
  }
  void refuse_unless(bool modelled, std::string_view key, std::string hint) {
    if (!modelled) file_.fault(key, fmt::format("{} = false is not modelled", key), std::move(hint));
  }

  void positions() {
    spec_.causal = family_->causal;
    spec_.position = family_->position;
    if (type_ == "vit") return;
    if (type_ == "t5") {
      file_.find({"n_positions"});
      spec_.relative_buckets = file_.size({"relative_attention_num_buckets"}, {.absent = 32, .least = 0});
      return;
    }
    const std::int64_t longest =
        file_.size({"max_position_embeddings", "n_positions"}, {.absent = family_->positions.value_or(0)});
    spec_.max_position_embeddings = longest;
    if (spec_.position == PositionKind::Learned) spec_.position_rows = longest + (type_ == "opt" ? 2 : 0);
    if (spec_.position == PositionKind::Rotary) {
      const double part = file_.fraction({"partial_rotary_factor", "rotary_pct"}, family_->rotated);
      spec_.rotary_dim = static_cast<std::int64_t>(std::floor(part * static_cast<double>(spec_.head_dim)));
    }
  }

  void encoder_decoder() {
    spec_.encoder_layers = file_.size({"num_layers", "num_encoder_layers", "num_hidden_layers", "n_layer"});
    spec_.num_hidden_layers = file_.size({"num_decoder_layers"}, {.absent = spec_.encoder_layers});
  }

  void image() {
    // Defaults of ViTConfig.
    spec_.image_size = file_.size({"image_size"}, {.absent = 224});
    spec_.patch_size = file_.size({"patch_size"}, {.absent = 16});
    spec_.num_channels = file_.size({"num_channels"}, {.absent = 3});
    spec_.has_vocabulary_head = false;
  }

  void bidirectional() {
    spec_.norm_after_add = spec_.embedding_norm = true;
    spec_.pooler = file_.flag({"add_pooling_layer"}, true);  // BertModel's argument
    spec_.token_types = file_.size({"type_vocab_size"}, {.absent = 2});
  }

  void dropouts() {
    double hidden = family_->hidden_dropout, attention = family_->attention_dropout;
    if (type_ == "gpt2") {
      hidden = file_.fraction({"resid_pdrop"}, hidden);
      attention = file_.fraction({"attn_pdrop"}, attention);
      file_.fraction({"embd_pdrop"}, hidden);
    } else if (type_ == "opt") {
      hidden = file_.fraction({"dropout"}, hidden);
      attention = file_.fraction({"attention_dropout"}, attention);
    } else if (type_ == "t5") {
      hidden = attention = file_.fraction({"dropout_rate"}, hidden);
    } else if (type_ == "bert" || type_ == "vit") {
      hidden = file_.fraction({"hidden_dropout_prob"}, hidden);
      attention = file_.fraction({"attention_probs_dropout_prob"}, attention);
    } else {
      hidden = file_.fraction({"hidden_dropout"}, hidden);
      attention = file_.fraction({"attention_dropout"}, attention);
    }
    spec_.hidden_dropout = hidden > 0;
    spec_.attention_dropout = attention > 0;
  }

  void head_and_dtype() {
    spec_.tie_word_embeddings = file_.flag({"tie_word_embeddings"}, family_->tied) && spec_.has_vocabulary_head;
    if (type_ == "gemma2" || strange()) {
      const nlohmann::json* cap = file_.find({"final_logit_softcapping"});
      if (cap && !cap->is_null() && !cap->is_number()) {
        file_.fault("final_logit_softcapping", "final_logit_softcapping is not a number");
      }
      // Gemma2Config's own default is 30.
      spec_.logit_softcap = cap ? !cap->is_null() : type_ == "gemma2";
    }
    // dtype is the newer name and wins when a file has both.
    std::string_view key = "dtype";
    std::optional<std::string> name = file_.word({"dtype"});
    const std::optional<std::string> older = file_.word({"torch_dtype"});
    if (!name) {
      name = older;
      key = "torch_dtype";
    }
    if (!name) return;
    if (const std::optional<DType> dtype = parse_dtype(*name)) {
      spec_.dtype = *dtype;
    } else {
      file_.fault(key, fmt::format("{} = \"{}\" is not a number format", key, *name),
                  "float32, bfloat16, float16 or float8_e4m3fn");
    }
  }

  void unmodelled() {
    if (const std::int64_t layers = file_.size({"num_nextn_predict_layers"}, {.absent = 0, .least = 0});
        layers > 0) {
      spec_.notes.push_back(fmt::format(
          "num_nextn_predict_layers = {}: multi-token prediction is not modelled; its layers are left out",
          layers));
    }
    if (file_.has("quantization_config")) {
      spec_.notes.push_back(
          "quantization_config is kept without effect: the plan decides the number formats of training");
    }
    spec_.unknown_keys = file_.unused();
  }

  ConfigFile file_;
  ModelSpec spec_;
  std::string type_;
  const ModelFamily* family_ = &stranger;
};

}  // namespace

ModelSpec parse_model(const std::string& json_text, const std::string& path, const std::string& name) {
  return Reader(json_text, path, name).read();
}

ModelSpec read_model(const std::string& path) {
  const std::string text = read_text_file(path, largest_file);
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  const bool plain = absolute.filename() == "config.json" && absolute.has_parent_path();
  return parse_model(text, path, plain ? absolute.parent_path().filename().string() : absolute.stem().string());
}

}  // namespace tandem
