// Blocks follow the modules of Hugging Face transformers (parameters) and Megatron-LM (how they split).
#include "core/model/build_block.h"

#include <utility>

namespace tandem {

Operator norm_operator(std::string name, NormKind kind, std::int64_t width, Sequence sequence) {
  Operator op;
  op.name = std::move(name);
  op.kind = Normalization{kind, width};
  op.sequence = sequence;
  op.parameters = {{"weight", width, false}};
  if (kind == NormKind::LayerNorm) op.parameters.push_back({"bias", width, false});
  return op;
}

Operator linear_operator(std::string name, std::int64_t in, std::int64_t out, Split split, bool bias,
                         Sequence sequence) {
  Operator op;
  op.name = std::move(name);
  op.kind = Linear{in, out};
  op.split = split;
  op.sequence = sequence;
  op.parameters = {{"weight", in * out, split != Split::None}};
  // The bias of a row-split product is added once, after the sum over ranks.
  if (bias) op.parameters.push_back({"bias", out, split == Split::Column || split == Split::Vocabulary});
  return op;
}

namespace {

class Block {
 public:
  Block(GraphBuilder& graph, const ModelSpec& spec, const BlockPlace& place)
      : graph_(graph), spec_(spec), place_(place) {}

  TensorId build(TensorId input, const TensorId* encoder_output) {
    const bool experts = !place_.encoder && !spec_.moe_layers.empty() &&
                         spec_.moe_layers[static_cast<std::size_t>(place_.index)];
    const std::string mlp = experts ? "moe" : "mlp";
    TensorId x = input;
    const TensorId attention_out = attention(spec_.norm_after_add ? x : norm("attention.norm", x));
    // A parallel block sums attention and MLP into its input at once.
    if (!spec_.parallel_residual) {
      x = add("attention.add", {x, post_norm("attention.post_norm", attention_out)});
      if (spec_.norm_after_add) x = norm("attention.norm", x);
    }
    if (encoder_output) x = add("cross.add", {x, cross_attention(norm("cross.norm", x), *encoder_output)});
    std::vector<TensorId> terms = {x};
    if (spec_.parallel_residual) terms.push_back(attention_out);
    const TensorId h = spec_.norm_after_add ? x : norm(mlp + ".norm", x);
    for (const TensorId y : experts ? expert_mlp(h) : std::vector<TensorId>{dense_mlp(h)}) terms.push_back(y);
    if (spec_.post_norms) terms.back() = norm(mlp + ".post_norm", terms.back());
    x = add(mlp + ".add", terms);
    return spec_.norm_after_add ? norm(mlp + ".norm", x) : x;
  }

 private:
  TensorId norm(std::string name, TensorId x) {
    return graph_.add(norm_operator(std::move(name), spec_.norm, spec_.hidden_size, place_.sequence), {x},
                      {spec_.hidden_size});
  }
  TensorId post_norm(std::string name, TensorId x) { return spec_.post_norms ? norm(std::move(name), x) : x; }

  TensorId linear(std::string name, TensorId x, std::int64_t out, Split split, bool bias, Sequence sequence) {
    const Layout layout = split == Split::Column ? Layout::Width : Layout::Sequence;
    return graph_.add(linear_operator(std::move(name), graph_.width(x), out, split, bias, sequence), {x},
                      {out, layout});
  }
  // The same on the block's own tokens, from a given input width (a part of a fused tensor is read by its
  // norm).
  TensorId linear(std::string name, TensorId x, std::int64_t out, Split split, bool bias = false) {
    return linear(std::move(name), x, out, split, bias, place_.sequence);
  }

  TensorId add(std::string name, const std::vector<TensorId>& terms) {
    Operator op;
    op.name = std::move(name);
    op.kind = Residual{spec_.hidden_size, spec_.hidden_dropout};
    op.sequence = place_.sequence;
    return graph_.add(std::move(op), terms,
                      {spec_.hidden_size, Layout::Sequence, spec_.hidden_dropout ? spec_.hidden_size : 0});
  }

  // Normalizes q (or k) head by head: one weight of head_dim for all heads.
  TensorId head_norm(std::string name, TensorId qkv, std::int64_t heads) {
    Operator op = norm_operator(std::move(name), spec_.norm, heads * spec_.head_dim, place_.sequence);
    op.split = Split::Heads;
    for (Parameter& parameter : op.parameters) parameter.count = spec_.head_dim;
    return graph_.add(std::move(op), {qkv}, {heads * spec_.head_dim, Layout::Width});
  }

  // Writes q, k and v again, side by side: `rotated` is the part of q and k that turns.
  TensorId rotary(const std::vector<TensorId>& inputs, std::int64_t rotated, std::int64_t out) {
    Operator op;
    op.name = "attention.rotary";
    op.kind = Rotary{rotated};
    op.split = Split::Heads;
    op.sequence = place_.sequence;
    return graph_.add(std::move(op), inputs, {out, Layout::Width});
  }

  TensorId core(std::string name, Attention attention, const std::vector<TensorId>& inputs) {
    attention.heads = spec_.num_attention_heads;
    attention.dropout = spec_.attention_dropout;
    Operator op;
    op.name = std::move(name);
    op.split = Split::Heads;
    op.sequence = place_.sequence;
    // Each stack's first block owns the position biases that its later blocks read again.
    if (spec_.relative_buckets > 0 && place_.index == 0 && !attention.cross) {
      op.parameters = {{"relative_bias", spec_.relative_buckets * attention.heads, true}};
    }
    const std::int64_t out = attention.heads * attention.v_head_dim;
    op.kind = attention;
    return graph_.add(std::move(op), inputs, {out, Layout::Width});
  }

  AttentionMask mask() const {
    return spec_.causal && !place_.encoder ? AttentionMask::Causal : AttentionMask::Full;
  }
  std::int64_t window() const {
    return spec_.windows.empty() || place_.encoder ? 0 : spec_.windows[static_cast<std::size_t>(place_.index)];
  }

  TensorId attention(TensorId x) {
    const TensorId out = spec_.latent.kv_lora_rank > 0 ? latent_core(x) : ordinary_core(x);
    return linear("attention.out", out, spec_.hidden_size, Split::Row, spec_.attention_output_bias);
  }

  TensorId ordinary_core(TensorId x) {
    const std::int64_t q = spec_.num_attention_heads * spec_.head_dim;
    const std::int64_t k = spec_.num_key_value_heads * spec_.head_dim;
    TensorId qkv = linear("attention.qkv", x, q + 2 * k, Split::Column, spec_.qkv_bias);
    std::vector<TensorId> parts = {qkv};
    if (spec_.qk_norm) {
      const TensorId q_normed = head_norm("attention.q_norm", qkv, spec_.num_attention_heads);
      const TensorId k_normed = head_norm("attention.k_norm", qkv, spec_.num_key_value_heads);
      parts = {q_normed, k_normed, qkv};
    }
    // With norms but no rotation, q and k are still written beside v.
    if (spec_.position == PositionKind::Rotary || spec_.qk_norm) {
      const std::int64_t heads = spec_.num_attention_heads + spec_.num_key_value_heads;
      const bool turns = spec_.position == PositionKind::Rotary;
      qkv = rotary(parts, turns ? heads * spec_.rotary_dim : 0, q + 2 * k);
    }
    return core("attention.core",
                {.kv_heads = spec_.num_key_value_heads,
                 .qk_head_dim = spec_.head_dim,
                 .v_head_dim = spec_.head_dim,
                 .mask = mask(),
                 .window = window()},
                {qkv});
  }

  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): q and kv go through narrow products; one
  // rotated key is shared by all heads.
  TensorId latent_core(TensorId x) {
    const LatentAttentionSpec& latent = spec_.latent;
    const std::int64_t heads = spec_.num_attention_heads, rope = latent.qk_rope_head_dim;
    const std::int64_t qk = latent.qk_nope_head_dim + rope;
    TensorId q = x;
    if (latent.q_lora_rank > 0) {
      q = linear("attention.q_a", q, latent.q_lora_rank, Split::None, spec_.qkv_bias);
      q = graph_.add(norm_operator("attention.q_norm", spec_.norm, latent.q_lora_rank, place_.sequence), {q},
                     {latent.q_lora_rank});
    }
    q = linear("attention.q_b", q, heads * qk, Split::Column);
    const TensorId kv_a = linear("attention.kv_a", x, latent.kv_lora_rank + rope, Split::None, spec_.qkv_bias);
    const TensorId kv_normed =
        graph_.add(norm_operator("attention.kv_norm", spec_.norm, latent.kv_lora_rank, place_.sequence), {kv_a},
                   {latent.kv_lora_rank});
    const TensorId kv = linear("attention.kv_b", kv_normed,
                               heads * (latent.qk_nope_head_dim + latent.v_head_dim), Split::Column);
    const TensorId qkv = rotary({q, kv, kv_a}, heads * rope + rope, heads * (2 * qk + latent.v_head_dim));
    return core("attention.core",
                {.kv_heads = heads,
                 .qk_head_dim = qk,
                 .v_head_dim = latent.v_head_dim,
                 .mask = mask(),
                 .window = window()},
                {qkv});
  }

  TensorId cross_attention(TensorId x, TensorId encoded) {
    const std::int64_t width = spec_.num_attention_heads * spec_.head_dim;
    const TensorId q = linear("cross.q", x, width, Split::Column, spec_.qkv_bias);
    const TensorId kv =
        linear("cross.kv", encoded, 2 * width, Split::Column, spec_.qkv_bias, Sequence::Encoder);
    const TensorId out = core("cross.core",
                              {.kv_heads = spec_.num_attention_heads,
                               .qk_head_dim = spec_.head_dim,
                               .v_head_dim = spec_.head_dim,
                               .mask = AttentionMask::Full,
                               .cross = true},
                              {q, kv});
    return linear("cross.out", out, spec_.hidden_size, Split::Row, spec_.attention_output_bias);
  }

  // up (gate beside it when gated), activation, down; `prefix` is "mlp." or "moe.shared_".
  TensorId dense(const std::string& prefix, TensorId x, std::int64_t width) {
    const TensorId up =
        linear(prefix + "up", x, spec_.gated_mlp ? 2 * width : width, Split::Column, spec_.mlp_bias);
    Operator op;
    op.name = prefix + "activation";
    op.kind = Activation{spec_.activation, width, spec_.gated_mlp};
    op.split = Split::Column;
    op.sequence = place_.sequence;
    const TensorId activated = graph_.add(std::move(op), {up}, {width, Layout::Width});
    return linear(prefix + "down", activated, spec_.hidden_size, Split::Row, spec_.mlp_bias);
  }
  TensorId dense_mlp(TensorId x) { return dense("mlp.", x, spec_.intermediate_size); }

  TensorId expert_linear(std::string name, TensorId x, std::int64_t out) {
    const std::int64_t in = graph_.width(x);
    Operator op;
    op.name = std::move(name);
    op.kind = ExpertLinear{spec_.moe.experts, spec_.moe.top_k, in, out};
    op.split = Split::Expert;
    op.sequence = place_.sequence;
    op.parameters = {{"weight", spec_.moe.experts * in * out, true}};
    return graph_.add(std::move(op), {x}, {out, Layout::Expert});
  }
  TensorId moe_step(std::string name, OperatorKind kind, Split split, const std::vector<TensorId>& inputs,
                    GraphBuilder::Output output) {
    Operator op;
    op.name = std::move(name);
    op.kind = std::move(kind);
    op.split = split;
    op.sequence = place_.sequence;
    return graph_.add(std::move(op), inputs, output);
  }

  // What is added to the residual: the experts' sum, then the shared expert's output if there is one.
  std::vector<TensorId> expert_mlp(TensorId x) {
    const MoeSpec& moe = spec_.moe;
    const std::int64_t hidden = spec_.hidden_size, width = moe.expert_width;
    Operator router;
    router.name = "moe.router";
    router.kind = Router{hidden, moe.experts, moe.top_k};
    router.sequence = place_.sequence;
    router.parameters = {{"weight", hidden * moe.experts, false}};
    if (moe.router_bias) router.parameters.push_back({"score_correction_bias", moe.experts, false});
    const TensorId scores = graph_.add(std::move(router), {x}, {moe.experts});
    TensorId y = moe_step("moe.dispatch", Dispatch{hidden, moe.experts, moe.top_k}, Split::Expert, {x, scores},
                          {hidden, Layout::Expert});
    y = expert_linear("moe.up", y, spec_.gated_mlp ? 2 * width : width);
    y = moe_step("moe.activation", ExpertActivation{spec_.activation, width, moe.top_k, spec_.gated_mlp},
                 Split::Expert, {y}, {width, Layout::Expert});
    y = expert_linear("moe.down", y, hidden);
    y = moe_step("moe.combine", Combine{hidden, moe.experts, moe.top_k}, Split::Expert, {y, scores}, {hidden});
    if (moe.shared_width == 0) return {y};
    TensorId shared = dense("moe.shared_", x, moe.shared_width);
    if (moe.shared_gate) {
      const TensorId gate = linear("moe.shared_gate", x, 1, Split::None);
      shared = moe_step("moe.shared_scale", Scale{hidden}, Split::None, {shared, gate}, {hidden});
    }
    return {y, shared};
  }

  GraphBuilder& graph_;
  const ModelSpec& spec_;
  const BlockPlace& place_;
};

}  // namespace

TensorId add_block(GraphBuilder& graph, const ModelSpec& spec, const BlockPlace& place, TensorId input,
                   const TensorId* encoder_output) {
  return Block(graph, spec, place).build(input, encoder_output);
}

}  // namespace tandem
