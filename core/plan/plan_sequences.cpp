// Sequence lengths: the model's own or the typed ones, and whether context and sequence parallelism divide
// them.
#include <fmt/format.h>

#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

constexpr const char* kContext = "context_parallel_size";
constexpr const char* kTensor = "tensor_model_parallel_size";
// Tokens of a microbatch; keeps products with any width inside 64 bits.
constexpr std::int64_t kMostTokens = 1'000'000'000;

void resolve_length(PlanDraft& draft, const std::string& key, std::int64_t& length, std::int64_t fixed) {
  if (fixed > 0) {
    if (length != 0 && length != fixed)
      draft.refuse(
          key,
          fmt::format("{} = {}, but sequences of {} have {} tokens", key, length, draft.graph.name(), fixed),
          "leave it out");
    length = fixed;
  }
  if (length == 0) {
    const std::int64_t most = draft.model.max_position_embeddings;
    draft.refuse(key, fmt::format("{} is not given", key),
                 most > 0 ? fmt::format("give the tokens of a training sequence, {} of at most {}",
                                        draft.graph.name(), most)
                          : "give the tokens of a training sequence");
  }
}

void check_positions(PlanDraft& draft, const std::string& key, std::int64_t length) {
  const std::int64_t most = draft.model.max_position_embeddings;
  if (most <= 0 || length <= most) return;
  if (draft.model.position == PositionKind::Learned)
    draft.refuse(key,
                 fmt::format("{} = {} is longer than the {} learned positions of {}", key, length, most,
                             draft.graph.name()),
                 fmt::format("use at most {}", most));
  else if (draft.model.position == PositionKind::Rotary)
    draft.remark(fmt::format("{} = {} is longer than the {} positions {} was made for", key, length, most,
                             draft.graph.name()));
}

// `causal`: the ring balances causal attention by giving each rank one block of the front and one of the back.
void check_division(PlanDraft& draft, const std::string& key, std::int64_t length, bool causal) {
  const PlanSpec& spec = draft.spec;
  if (!draft.usable({kContext})) return;
  const std::int64_t cp = spec.context_parallel_size;
  const std::int64_t blocks =
      causal && cp > 1 && spec.cp_comm_type == ContextCommunication::RingP2p ? 2 * cp : cp;
  if (length % blocks != 0) {
    draft.refuse(key,
                 fmt::format("{} = {} is not a multiple of {}{} = {}", key, length, blocks > cp ? "2 x " : "",
                             kContext, blocks),
                 use_multiple(blocks, length));
    return;
  }
  if (!spec.sequence_parallel || !draft.usable({kTensor, "sequence_parallel"})) return;
  const std::int64_t tp = spec.tensor_model_parallel_size;
  if (length / cp % tp != 0)
    draft.refuse(key,
                 fmt::format("{} = {}{} is not a multiple of {} = {}, as sequence_parallel needs", key, length,
                             cp > 1 ? fmt::format(" / {} {}", kContext, cp) : "", kTensor, tp),
                 fixed_sequence_length(draft.model) > 0 ? "turn sequence_parallel off"
                                                        : use_multiple(blocks * tp, length));
}

// Ulysses: an all-to-all turns a share of the tokens into a share of the heads.
void check_ulysses_heads(PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  const ModelSpec& model = draft.model;
  if (spec.cp_comm_type != ContextCommunication::AllToAll || !draft.usable({kContext, kTensor})) return;
  const std::int64_t cp = spec.context_parallel_size, tp = spec.tensor_model_parallel_size;
  if (cp == 1) return;
  const auto fits = [&](std::int64_t degree) {
    const std::int64_t split = bounded_product({tp, degree});
    return model.num_attention_heads % split == 0 &&
           (model.latent.kv_lora_rank > 0 || model.num_key_value_heads % split == 0);
  };
  if (fits(cp)) return;
  std::vector<std::int64_t> legal;
  if (model.num_attention_heads > 0)
    for (std::int64_t degree : divisors(model.num_attention_heads))
      if (fits(degree)) legal.push_back(degree);
  std::string hint = use_one_of(legal, cp);
  draft.refuse(
      kContext,
      fmt::format("cp_comm_type = a2a: {} {} x tp {} does not divide {} attention heads and {} key-value heads",
                  kContext, cp, tp, model.num_attention_heads, model.num_key_value_heads),
      (hint.empty() ? hint : hint + "; or ") + "cp_comm_type = p2p");
}

}  // namespace

void resolve_sequences(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  const bool encoder = draft.graph.has_encoder(), causal = draft.model.causal;
  check_ulysses_heads(draft);
  if (draft.usable({"seq_length"}))
    resolve_length(draft, "seq_length", spec.seq_length, fixed_sequence_length(draft.model));
  if (draft.usable({"seq_length"})) {
    check_positions(draft, "seq_length", spec.seq_length);
    check_division(draft, "seq_length", spec.seq_length, causal && !encoder);
  }
  if (!encoder && spec.decoder_seq_length != 0)
    draft.refuse("decoder_seq_length",
                 fmt::format("decoder_seq_length = {}, but {} has no encoder beside its decoder",
                             spec.decoder_seq_length, draft.graph.name()),
                 "use seq_length");
  if (encoder && draft.usable({"decoder_seq_length"}))
    resolve_length(draft, "decoder_seq_length", spec.decoder_seq_length, 0);
  if (encoder && draft.usable({"decoder_seq_length"})) {
    check_positions(draft, "decoder_seq_length", spec.decoder_seq_length);
    check_division(draft, "decoder_seq_length", spec.decoder_seq_length, true);
  }
  if (!draft.usable({"seq_length", "decoder_seq_length", "micro_batch_size"})) return;
  draft.tokens.batch = spec.micro_batch_size;
  draft.tokens.main = encoder ? spec.decoder_seq_length : spec.seq_length;
  draft.tokens.encoder = encoder ? spec.seq_length : 0;
  const std::int64_t tokens = bounded_product({draft.tokens.batch, draft.tokens.main + draft.tokens.encoder});
  if (tokens > kMostTokens)
    draft.refuse("micro_batch_size",
                 fmt::format("a microbatch of micro_batch_size {} x seq_length {} has more than {} tokens",
                             spec.micro_batch_size, spec.seq_length, kMostTokens),
                 "use a smaller one");
  if (spec.dtype == DType::Fp8 && draft.usable({kContext, kTensor}) &&
      draft.tokens.batch * draft.tokens.main / spec.context_parallel_size % 16 != 0)
    draft.remark("fp8 products want the tokens of a rank to be a multiple of 16");
}

}  // namespace tandem
