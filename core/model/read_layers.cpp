// The activation, sliding windows and experts of each layer, from a config.json.
#include "core/model/read_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

constexpr std::pair<std::string_view, ActivationKind> activations[] = {
    {"gelu", ActivationKind::Gelu},
    {"gelu_new", ActivationKind::Gelu},
    {"gelu_fast", ActivationKind::Gelu},
    {"gelu_python", ActivationKind::Gelu},
    {"gelu_pytorch_tanh", ActivationKind::Gelu},
    {"quick_gelu", ActivationKind::Gelu},
    {"relu", ActivationKind::Relu},
    {"silu", ActivationKind::Silu},
    {"swish", ActivationKind::Silu},
    {"tanh", ActivationKind::Tanh},
};

// Which blocks have experts.
void read_expert_layers(ConfigFile& file, const ModelFamily& family, ModelSpec& spec) {
  const bool strange = family.model_type.empty(), qwen = family.model_type.ends_with("_moe");
  const bool deepseek = family.model_type.starts_with("deepseek");
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(spec.num_hidden_layers, 0, 10000));
  std::int64_t dense_first = 0, frequency = 1, step = 1;
  std::vector<std::int64_t> dense;
  if (deepseek || strange) {
    dense_first = file.size({"first_k_dense_replace"},
                            {.absent = family.model_type == "deepseek_v3" ? 3 : 0, .least = 0});
    frequency = file.size({"moe_layer_freq"}, {.absent = 1});
  }
  if (qwen || strange) {
    step = file.size({"decoder_sparse_step"}, {.absent = 1});
    dense = file.sizes({"mlp_only_layers"});
  }
  std::vector<bool> layers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    layers[i] = layer >= dense_first && layer % frequency == 0 && (layer + 1) % step == 0 &&
                std::find(dense.begin(), dense.end(), layer) == dense.end();
  }
  if (std::find(layers.begin(), layers.end(), true) != layers.end()) spec.moe_layers = std::move(layers);
}

}  // namespace

void read_activation(ConfigFile& file, const ModelFamily& family, ModelSpec& spec) {
  const bool strange = family.model_type.empty();
  spec.gated_mlp = family.gated;
  spec.activation = family.activation;
  const bool t5 = family.model_type == "t5";
  std::string_view key = t5 ? "feed_forward_proj" : "hidden_act";
  std::optional<std::string> name;
  if (t5) {
    name = file.word({"feed_forward_proj"});
    constexpr std::string_view gated = "gated-";
    if (name && name->starts_with(gated)) {
      spec.gated_mlp = true;
      name->erase(0, gated.size());
    }
  } else {
    // Gemma 2 carries both names; hidden_activation is the one that its code obeys.
    for (const std::string_view other : {"hidden_activation", "hidden_act", "activation_function"}) {
      const std::optional<std::string> value = file.word({other});
      if (!value || name) continue;
      name = value;
      key = other;
    }
  }
  if (!name) {
    if (strange) file.fault("hidden_act", "hidden_act is missing", "a model_type that is not known needs it");
    return;
  }
  for (const auto& [known, kind] : activations) {
    if (known == *name) {
      spec.activation = kind;
      return;
    }
  }
  std::string list;
  for (const auto& [known, kind] : activations) list += fmt::format("{}{}", list.empty() ? "" : ", ", known);
  file.fault(key, fmt::format("{} = \"{}\" is not known", key, *name), "one of " + list);
}

void read_windows(ConfigFile& file, const ModelFamily& family, ModelSpec& spec) {
  const bool strange = family.model_type.empty();
  const std::string_view type = family.model_type;
  const bool gemma = type == "gemma2" || type == "gemma3_text", qwen = type.starts_with("qwen");
  if (!gemma && !qwen && type != "mistral" && type != "mixtral" && !strange) return;
  const std::int64_t window = file.size({"sliding_window"}, {.absent = family.window.value_or(0), .null = 0});
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(spec.num_hidden_layers, 0, 10000));
  const std::vector<std::string> types = file.words({"layer_types"});
  const bool used = file.flag({"use_sliding_window"}, !qwen);
  // Absent: Gemma 3 has every sixth layer full, Gemma 2 every second.
  const std::int64_t pattern =
      file.size({"sliding_window_pattern", "_sliding_window_pattern"}, {.absent = type == "gemma3_text" ? 6
                                                                                  : type == "gemma2"    ? 2
                                                                                                        : 0});
  const std::int64_t first = file.size({"max_window_layers"}, {.absent = qwen ? 28 : 0, .least = 0});
  if (!types.empty() && types.size() != count && file.problems().empty()) {
    file.fault("layer_types", fmt::format("layer_types has {} entries for {} layers", types.size(), count));
  }
  if (!types.empty() && types.size() != count) return;
  std::vector<std::int64_t> windows(count, window);
  for (std::size_t i = 0; i < count; ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const std::string kind = types.empty() ? "" : types[i];
    const bool full = types.empty() ? (pattern > 0 && (layer + 1) % pattern == 0) || (qwen && layer < first)
                                    : kind == "full_attention";
    if (full) windows[i] = 0;
    if (full || types.empty() || kind == "sliding_attention") continue;
    file.fault("layer_types", fmt::format("layer_types[{}] is neither full_attention nor sliding_attention", i),
               "other kinds of attention are not modelled");
    return;
  }
  const bool any = std::any_of(windows.begin(), windows.end(), [](std::int64_t w) { return w > 0; });
  if (any && used) spec.windows = std::move(windows);
}

void read_experts(ConfigFile& file, const ModelFamily& family, ModelSpec& spec) {
  const bool strange = family.model_type.empty();
  const std::string_view type = family.model_type;
  const bool deepseek = type.starts_with("deepseek"), qwen = type.ends_with("_moe");
  if (!deepseek && !qwen && type != "mixtral" && !strange) return;
  MoeSpec& moe = spec.moe;
  moe.experts = file.size({"num_experts", "num_local_experts", "n_routed_experts", "num_routed_experts"},
                          {.absent = family.experts, .null = 0, .least = 0});
  if (moe.experts == 0) return;
  moe.top_k = file.size({"num_experts_per_tok"}, {.absent = family.top_k});
  const bool own_width = deepseek || qwen || file.has("moe_intermediate_size");
  moe.expert_width = own_width && type != "mixtral"
                         ? file.size({"moe_intermediate_size"}, {.absent = family.expert_width})
                         : spec.intermediate_size;
  if (type == "qwen2_moe") {
    moe.shared_width =
        file.size({"shared_expert_intermediate_size"}, {.absent = family.shared_experts, .least = 0});
    moe.shared_gate = true;
  } else if (strange && file.has("shared_expert_intermediate_size")) {
    moe.shared_width = file.size({"shared_expert_intermediate_size"}, {.absent = 0, .least = 0});
  } else if (deepseek || strange) {
    const std::int64_t shared = file.size({"n_shared_experts", "num_shared_experts"},
                                          {.absent = family.shared_experts, .null = 0, .least = 0});
    if (shared > (std::int64_t{1} << 40) / moe.expert_width) {
      file.fault("n_shared_experts", fmt::format("n_shared_experts = {} experts of width {} are absurdly wide",
                                                 shared, moe.expert_width));
    } else {
      moe.shared_width = shared * moe.expert_width;
    }
  }
  moe.router_bias = type == "deepseek_v3";
  read_expert_layers(file, family, spec);
}

}  // namespace tandem
