// Whether a specification's sizes make sense together, and its parameters by closed formula.
#include <fmt/format.h>

#include <utility>

#include "core/model/model_spec.h"

namespace tandem {
namespace {

// Far above any model, and low enough that sums of a few widths stay whole in 64 bits.
constexpr std::int64_t largest_size = std::int64_t{1} << 40;
// The deepest published language models have about a thousand layers; a graph of more than this is a slip.
constexpr std::int64_t largest_depth = 10000;
// Counts are printed and summed in doubles, which hold whole numbers up to here.
constexpr double most_parameters = 9007199254740992.0;  // 2^53

double d(std::int64_t size) { return static_cast<double>(size); }

class Checker {
 public:
  Checker(const ModelSpec& spec, const std::function<Where(std::string_view)>& where)
      : spec_(spec), where_(where) {}

  std::vector<Problem> run() {
    sizes();
    if (list_.empty()) together();
    return std::move(list_);
  }

 private:
  void fault(std::string_view key, std::string what, std::string hint = {}) {
    list_.push_back({where_(key), std::move(what), std::move(hint)});
  }
  void range(std::string_view key, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low) fault(key, fmt::format("{} = {} is below {}", key, value, low));
    if (value > high) fault(key, fmt::format("{} = {} is absurd: at most {} makes sense", key, value, high));
  }

  void sizes() {
    range("hidden_size", spec_.hidden_size, 1, largest_size);
    range("num_hidden_layers", spec_.num_hidden_layers, 1, largest_depth);
    range("num_attention_heads", spec_.num_attention_heads, 1, largest_size);
    range("intermediate_size", spec_.intermediate_size, 1, largest_size);
    range("num_layers", spec_.encoder_layers, 0, largest_depth);
    range("max_position_embeddings", spec_.position_rows,
          spec_.position == PositionKind::Learned && !spec_.image_size, largest_size);
    range("type_vocab_size", spec_.token_types, 0, largest_size);
    range("relative_attention_num_buckets", spec_.relative_buckets, 0, largest_size);
    if (spec_.image_size != 0) {
      range("image_size", spec_.image_size, 1, std::int64_t{1} << 20);
      range("patch_size", spec_.patch_size, 1, std::int64_t{1} << 20);
      range("num_channels", spec_.num_channels, 1, std::int64_t{1} << 20);
    } else {
      range("vocab_size", spec_.vocab_size, 1, largest_size);
    }
    if (spec_.latent.kv_lora_rank != 0) {
      range("kv_lora_rank", spec_.latent.kv_lora_rank, 1, largest_size);
      range("q_lora_rank", spec_.latent.q_lora_rank, 0, largest_size);
      range("qk_nope_head_dim", spec_.latent.qk_nope_head_dim, 1, largest_size);
      range("qk_rope_head_dim", spec_.latent.qk_rope_head_dim, 1, largest_size);
      range("v_head_dim", spec_.latent.v_head_dim, 1, largest_size);
    } else {
      range("head_dim", spec_.head_dim, 1, largest_size);
      range("num_key_value_heads", spec_.num_key_value_heads, 1, largest_size);
    }
    if (spec_.moe_layers.empty()) return;
    range("num_experts", spec_.moe.experts, 1, largest_size);
    range("num_experts_per_tok", spec_.moe.top_k, 1, largest_size);
    range("moe_intermediate_size", spec_.moe.expert_width, 1, largest_size);
    range("n_shared_experts", spec_.moe.shared_width, 0, largest_size);
  }

  void together() {
    const auto layers = static_cast<std::size_t>(spec_.num_hidden_layers);
    const bool latent = spec_.latent.kv_lora_rank != 0;
    const double head = latent ? d(spec_.latent.qk_nope_head_dim) + d(spec_.latent.qk_rope_head_dim) +
                                     d(spec_.latent.v_head_dim)
                               : d(spec_.head_dim);
    if (d(spec_.num_attention_heads) * head > d(largest_size)) {
      fault("num_attention_heads",
            fmt::format("{} attention heads of this size are absurdly wide: {:.3g} in all",
                        spec_.num_attention_heads, d(spec_.num_attention_heads) * head));
    }
    if (!latent && spec_.num_attention_heads % spec_.num_key_value_heads != 0) {
      fault("num_key_value_heads",
            fmt::format("num_key_value_heads = {} does not divide num_attention_heads = {}",
                        spec_.num_key_value_heads, spec_.num_attention_heads),
            "each key-value head serves the same number of query heads");
    }
    if (!latent && (spec_.rotary_dim < 0 || spec_.rotary_dim > spec_.head_dim)) {
      fault("rotary_pct",
            fmt::format("{} of {} dimensions of a head are rotated", spec_.rotary_dim, spec_.head_dim));
    }
    if (spec_.image_size != 0 && spec_.patch_size > spec_.image_size) {
      fault("patch_size",
            fmt::format("patch_size = {} exceeds image_size = {}", spec_.patch_size, spec_.image_size));
    }
    if (!spec_.windows.empty() && spec_.windows.size() != layers) {
      fault("layer_types", fmt::format("{} layers have a kind of attention, but num_hidden_layers = {}",
                                       spec_.windows.size(), layers));
    }
    if (!spec_.moe_layers.empty() && spec_.moe_layers.size() != layers) {
      fault("moe_layer_freq",
            fmt::format("{} layers are said to be expert or dense, but num_hidden_layers = {}",
                        spec_.moe_layers.size(), layers));
    }
    if (!spec_.moe_layers.empty() && spec_.moe.top_k > spec_.moe.experts) {
      fault("num_experts_per_tok", fmt::format("num_experts_per_tok = {} exceeds the {} experts of a layer",
                                               spec_.moe.top_k, spec_.moe.experts));
    }
    if (!list_.empty()) return;
    const double parameters = parameter_formula(spec_);
    if (parameters > most_parameters) {
      fault("",
            fmt::format("the model has {:.3g} parameters, more than can be counted exactly (2^53)", parameters),
            "look for a size with too many digits");
    }
  }

  const ModelSpec& spec_;
  const std::function<Where(std::string_view)>& where_;
  std::vector<Problem> list_;
};

double linear(double in, double out, bool bias) { return in * out + (bias ? out : 0); }

double attention_parameters(const ModelSpec& s, bool cross) {
  const double h = d(s.hidden_size), heads = d(s.num_attention_heads);
  if (s.latent.kv_lora_rank > 0) {
    const double q = d(s.latent.q_lora_rank), kv = d(s.latent.kv_lora_rank), v = d(s.latent.v_head_dim);
    const double nope = d(s.latent.qk_nope_head_dim), rope = d(s.latent.qk_rope_head_dim);
    const double query =
        q > 0 ? linear(h, q, s.qkv_bias) + q + q * heads * (nope + rope) : h * heads * (nope + rope);
    return query + linear(h, kv + rope, s.qkv_bias) + kv + kv * heads * (nope + v) +
           linear(heads * v, h, s.attention_output_bias);
  }
  const double q = heads * d(s.head_dim), k = cross ? q : d(s.num_key_value_heads) * d(s.head_dim);
  const double norms = s.qk_norm ? 2 * d(s.head_dim) * (s.norm == NormKind::LayerNorm ? 2 : 1) : 0;
  return linear(h, q + 2 * k, s.qkv_bias) + linear(q, h, s.attention_output_bias) + norms;
}

double dense_parameters(const ModelSpec& s, std::int64_t width) {
  const double h = d(s.hidden_size), w = d(width);
  return linear(h, s.gated_mlp ? 2 * w : w, s.mlp_bias) + linear(w, h, s.mlp_bias);
}

double expert_parameters(const ModelSpec& s) {
  const double h = d(s.hidden_size), experts = d(s.moe.experts), w = d(s.moe.expert_width);
  return h * experts + (s.moe.router_bias ? experts : 0) + experts * (s.gated_mlp ? 3 : 2) * h * w +
         (s.moe.shared_width > 0 ? dense_parameters(s, s.moe.shared_width) : 0) +
         (s.moe.shared_width > 0 && s.moe.shared_gate ? h : 0);
}

}  // namespace

std::vector<Problem> check_spec(const ModelSpec& spec,
                                const std::function<Where(std::string_view key)>& where) {
  return Checker(spec, where).run();
}

double parameter_formula(const ModelSpec& s) {
  const double h = d(s.hidden_size), norm = s.norm == NormKind::LayerNorm ? 2 * h : h;
  double total = d(s.vocab_size) * h + d(s.token_types) * h;
  if (s.image_size > 0) {
    const double side = d(s.image_size / s.patch_size), p = d(s.patch_size);
    total += linear(d(s.num_channels) * p * p, h, true) + (side * side + 2) * h;  // class token, its position
  } else if (s.position == PositionKind::Learned) {
    total += d(s.position_rows) * h;
  }
  if (s.embedding_norm) total += norm;
  const double block = attention_parameters(s, false) + (s.post_norms ? 4 : 2) * norm;
  const double bias_table = d(s.relative_buckets) * d(s.num_attention_heads);
  double experts = 0;
  for (const bool expert : s.moe_layers) experts += expert ? 1 : 0;
  total += d(s.num_hidden_layers) * block +
           (d(s.num_hidden_layers) - experts) * dense_parameters(s, s.intermediate_size);
  if (experts > 0) total += experts * expert_parameters(s);
  total += bias_table;
  if (s.encoder_layers > 0) {
    total += d(s.encoder_layers) * (block + dense_parameters(s, s.intermediate_size)) + norm + bias_table;
    total += d(s.num_hidden_layers) * (attention_parameters(s, true) + norm);
  }
  if (!s.norm_after_add) total += norm;
  if (s.has_vocabulary_head && !s.tie_word_embeddings) total += d(s.vocab_size) * h;
  if (s.pooler) total += linear(h, h, true);
  return total;
}

}  // namespace tandem
