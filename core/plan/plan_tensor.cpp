// Tensor and expert parallelism against the model: heads, widths, experts, the padded vocabulary.
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

constexpr const char* kTensor = "tensor_model_parallel_size";

// A key-value head is split off or copied: tp divides the heads or is a multiple of them.
bool key_value_heads_fit(const ModelSpec& model, std::int64_t tp) {
  const std::int64_t heads = model.num_key_value_heads;
  return model.latent.kv_lora_rank > 0 || heads <= 0 || heads % tp == 0 || tp % heads == 0;
}

bool has_dense_mlp(const ModelSpec& model) {
  return model.moe_layers.empty() || model.encoder_layers > 0 ||
         std::find(model.moe_layers.begin(), model.moe_layers.end(), false) != model.moe_layers.end();
}

struct Width {
  const char* name;
  std::int64_t size;
};

// Widths that tp cuts, whole heads apart.
std::vector<Width> split_widths(const ModelSpec& model, bool experts) {
  std::vector<Width> widths;
  if (has_dense_mlp(model)) widths.push_back({"intermediate_size", model.intermediate_size});
  if (experts && model.moe.shared_width > 0)
    widths.push_back({"the shared experts' width", model.moe.shared_width});
  return widths;
}

std::vector<std::int64_t> legal_tensor_degrees(const PlanDraft& draft, bool experts) {
  std::vector<std::int64_t> legal;
  if (draft.model.num_attention_heads < 1) return legal;
  const std::vector<Width> widths = split_widths(draft.model, experts);
  for (std::int64_t tp : divisors(draft.model.num_attention_heads))
    if (tp <= draft.machine.devices && key_value_heads_fit(draft.model, tp) &&
        std::all_of(widths.begin(), widths.end(), [&](const Width& width) { return width.size % tp == 0; }))
      legal.push_back(tp);
  return legal;
}

void check_heads_and_widths(PlanDraft& draft, bool experts) {
  const std::int64_t tp = draft.spec.tensor_model_parallel_size;
  if (tp == 1) return;
  const ModelSpec& model = draft.model;
  std::string what;
  const auto add = [&](std::string fault) { what += (what.empty() ? "" : ", and ") + std::move(fault); };
  if (model.num_attention_heads % tp != 0)
    add(fmt::format("does not divide {} attention heads", model.num_attention_heads));
  if (!key_value_heads_fit(model, tp))
    add(fmt::format("neither divides {} key-value heads nor is a multiple of them", model.num_key_value_heads));
  for (const Width& width : split_widths(model, experts))
    if (width.size % tp != 0) add(fmt::format("does not divide {} {}", width.name, width.size));
  if (what.empty()) return;
  draft.refuse(kTensor, fmt::format("{} = {} {} of {}", kTensor, tp, what, draft.graph.name()),
               use_one_of(legal_tensor_degrees(draft, experts), tp));
}

void check_experts(PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  const MoeSpec& moe = draft.model.moe;
  const std::int64_t ep = spec.expert_model_parallel_size;
  // Megatron-Core's default for etp is tp.
  const std::int64_t etp =
      spec.expert_tensor_parallel_size > 0 ? spec.expert_tensor_parallel_size : spec.tensor_model_parallel_size;
  if (draft.usable({"expert_model_parallel_size"}) && moe.experts % ep != 0)
    draft.refuse("expert_model_parallel_size",
                 fmt::format("expert_model_parallel_size = {} does not divide {} experts", ep, moe.experts),
                 use_one_of(divisors(moe.experts), ep));
  if (draft.usable({"expert_tensor_parallel_size", kTensor}) && moe.expert_width % etp != 0)
    draft.refuse("expert_tensor_parallel_size",
                 fmt::format("expert_tensor_parallel_size = {} does not divide the experts' width {}", etp,
                             moe.expert_width),
                 use_one_of(divisors(moe.expert_width), etp));
  if (draft.usable({kTensor}) && spec.tensor_model_parallel_size > 1 && !spec.sequence_parallel)
    draft.refuse("sequence_parallel",
                 fmt::format("{} = {} with experts needs sequence_parallel, or each rank would dispatch "
                             "every token",
                             kTensor, spec.tensor_model_parallel_size),
                 "turn sequence_parallel on");
}

void pad_vocabulary(PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  const std::int64_t vocabulary = draft.model.vocab_size;
  if (vocabulary <= 0 || !draft.usable({kTensor, "make_vocab_size_divisible_by"})) return;
  const std::int64_t step = spec.make_vocab_size_divisible_by * spec.tensor_model_parallel_size;
  draft.padded_vocabulary = (vocabulary + step - 1) / step * step;
  if (draft.padded_vocabulary != vocabulary)
    draft.remark(fmt::format(
        "vocabulary padded from {} to {}, a multiple of make_vocab_size_divisible_by {} x tp {}", vocabulary,
        draft.padded_vocabulary, spec.make_vocab_size_divisible_by, spec.tensor_model_parallel_size));
}

}  // namespace

void check_tensor_split(PlanDraft& draft) {
  const bool experts = draft.graph.has_experts();
  if (draft.usable({kTensor})) check_heads_and_widths(draft, experts);
  if (experts) check_experts(draft);
  pad_vocabulary(draft);
  const PlanSpec& spec = draft.spec;
  if (spec.sequence_parallel && draft.usable({kTensor, "sequence_parallel"}) &&
      spec.tensor_model_parallel_size == 1)
    draft.refuse("sequence_parallel", fmt::format("sequence_parallel needs {} > 1", kTensor), "leave it out");
  if (spec.tp_comm_overlap && draft.usable({kTensor, "sequence_parallel"}) && !spec.sequence_parallel)
    draft.refuse("tp_comm_overlap", "tp_comm_overlap needs sequence_parallel",
                 spec.tensor_model_parallel_size > 1 ? "turn sequence_parallel on" : "leave it out");
}

}  // namespace tandem
