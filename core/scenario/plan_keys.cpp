// Keys of [plan]: Megatron-Core's names, each bound to its field of PlanSpec.
#include "core/scenario/key_builders.h"
#include "core/units/text.h"

namespace tandem {
namespace {

using namespace key_builders;

constexpr Range degree{1, most_devices};
constexpr Range batch{1, 1'000'000'000};
constexpr Range length{1, 1'000'000'000};

#define SHORTHAND(member) \
  [](auto& s) -> auto& { return s.shorthand.member; }
#define FIELD(member) \
  [](auto& s) -> auto& { return s.plan.member; }

template <class Field>
Key integer_list(Names_ names, Field field, Range range, std::string unit, std::string help) {
  Key key{.name = names.name, .alias = names.alias, .kind = KeyKind::IntegerList, .unit = unit, .help = help};
  key.set = [field, range](Scenario& scenario, const KeyValue& value) -> std::string {
    const std::string wanted = "a list is wanted, as in [8, 8, 7], of whole numbers from " +
                               std::to_string(range.low) + " to " + std::to_string(range.high);
    const auto* list = std::get_if<KeyValue::List>(&value.is);
    if (list == nullptr || list->empty()) return wanted;
    auto& target = field(scenario);
    target.clear();
    for (const KeyValue& item : *list) {
      const auto number = integer_in(item, range);
      if (!number) return wanted;
      target.push_back(static_cast<typename std::remove_cvref_t<decltype(target)>::value_type>(*number));
    }
    return "";
  };
  key.get = [field](const Scenario& scenario) -> std::string {
    std::string all;
    for (const auto number : field(scenario)) all += (all.empty() ? "" : ", ") + std::to_string(number);
    return all.empty() ? "" : "[" + all + "]";
  };
  return key;
}

const Names<RecomputeModule> module_names = {{"core_attn", RecomputeModule::CoreAttention},
                                             {"mlp", RecomputeModule::Mlp},
                                             {"moe", RecomputeModule::Moe},
                                             {"layernorm", RecomputeModule::LayerNorm},
                                             {"moe_act", RecomputeModule::MoeActivation},
                                             {"mla_up_proj", RecomputeModule::MlaUpProjection}};

Key recompute_modules() {
  Key key{.name = "recompute_modules",
          .kind = KeyKind::ChoiceList,
          .help = "what selective recomputation recomputes (default core_attn)"};
  for (const auto& [text, module] : module_names) key.choices.push_back(text);
  key.set = [choices = key.choices](Scenario& scenario, const KeyValue& value) -> std::string {
    const std::string wanted = "a list is wanted whose items are each: " + wanted_choice(choices);
    const auto* list = std::get_if<KeyValue::List>(&value.is);
    if (list == nullptr || list->empty()) return wanted;
    std::vector<RecomputeModule> modules;
    for (const KeyValue& item : *list) {
      const auto* typed = std::get_if<std::string>(&item.is);
      bool known = false;
      for (const auto& [text, module] : module_names) {
        if (typed == nullptr || text != *typed) continue;
        modules.push_back(module);
        known = true;
      }
      if (!known) return wanted;
    }
    scenario.plan.recompute_modules = modules;
    return "";
  };
  key.get = [](const Scenario& scenario) -> std::string {
    std::string all;
    for (const RecomputeModule module : scenario.plan.recompute_modules)
      for (const auto& [text, known] : module_names)
        if (known == module) all += (all.empty() ? "" : ", ") + quoted(text);
    return all.empty() ? "" : "[" + all + "]";
  };
  return key;
}

Key rank_order() {
  Key key{.name = "rank_order",
          .kind = KeyKind::Text,
          .unit = "axes from fastest to slowest",
          .help = "which axis neighbouring ranks differ in first (default tp-cp-ep-dp-pp)"};
  key.set = [](Scenario& scenario, const KeyValue& value) -> std::string {
    const auto* typed = std::get_if<std::string>(&value.is);
    if (typed == nullptr || typed->empty() || typed->size() > 40)
      return "an order such as \"tp-cp-ep-dp-pp\" is wanted";
    scenario.plan.rank_order = *typed;
    return "";
  };
  key.get = [](const Scenario& scenario) { return quoted(scenario.plan.rank_order); };
  return key;
}

// Resolved into other keys, so that the canonical form has those alone.
Key shorthand(Key key) {
  key.get = [](const Scenario&) { return std::string(); };
  return key;
}

Key layout() {
  Key key{
      .name = "pipeline_model_parallel_layout",
      .kind = KeyKind::Text,
      .unit = "as Et*3|(tt|)*5tttL",
      .help = "layers of each chunk as Megatron writes them: E embedding, t a layer, L loss, | between chunks"};
  key.set = [](Scenario& scenario, const KeyValue& value) -> std::string {
    const auto* typed = std::get_if<std::string>(&value.is);
    if (typed == nullptr || typed->empty() || typed->size() > 10'000)
      return "a layout such as \"Et*3|(tt|)*5tttL\" is wanted";
    scenario.shorthand.layout = *typed;
    return "";
  };
  return shorthand(std::move(key));
}

Names<std::optional<ScheduleKind>> schedule_names() {
  Names<std::optional<ScheduleKind>> names;
  for (const ScheduleKind kind :
       {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward, ScheduleKind::Interleaved,
        ScheduleKind::ZeroBubbleH1, ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe})
    names.emplace_back(std::string(name(kind)), kind);
  return names;
}

const Names<DType> dtype_names = {
    {"bf16", DType::Bf16}, {"fp16", DType::Fp16}, {"fp32", DType::Fp32}, {"fp8", DType::Fp8}};
const Names<DType> state_names = {
    {"fp32", DType::Fp32}, {"bf16", DType::Bf16}, {"fp16", DType::Fp16}, {"fp8", DType::Fp8}};

Key in_training_too(Key key) {
  key.also_training = true;
  return key;
}

}  // namespace

std::vector<Key> plan_keys() {
  return {
      integer({"tensor_model_parallel_size", "tp"}, FIELD(tensor_model_parallel_size), degree, "ranks",
              "ranks that share each matrix"),
      integer({"pipeline_model_parallel_size", "pp"}, FIELD(pipeline_model_parallel_size), degree, "stages",
              "pipeline stages"),
      integer({"virtual_pipeline_model_parallel_size", "vpp"}, FIELD(virtual_pipeline_model_parallel_size),
              degree, "chunks", "chunks of layers a stage (interleaving)", 0),
      integer({"context_parallel_size", "cp"}, FIELD(context_parallel_size), degree, "ranks",
              "ranks that share each sequence"),
      integer({"expert_model_parallel_size", "ep"}, FIELD(expert_model_parallel_size), degree, "ranks",
              "ranks that share the experts"),
      integer({"expert_tensor_parallel_size", "etp"}, FIELD(expert_tensor_parallel_size), degree, "ranks",
              "ranks that share each expert's matrices (default: tp)", 0),
      integer({"data_parallel_size", "dp"}, FIELD(data_parallel_size), degree, "ranks",
              "copies of the model (default: all devices left)", 0),
      integer_list({"pipeline_layers", ""}, FIELD(pipeline_layers), {0, 1'000'000}, "layers",
                   "layers of each chunk in model order (default: even)"),
      shorthand(integer({"num_layers_per_virtual_pipeline_stage", ""}, SHORTHAND(layers_per_virtual_stage),
                        {1, 1'000'000}, "layers", "another way to give vpp: layers of each chunk")),
      shorthand(integer({"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
                        SHORTHAND(first_stage_layers), {1, 1'000'000}, "layers",
                        "layers of the first stage; the others share the rest evenly")),
      shorthand(integer({"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
                        SHORTHAND(last_stage_layers), {1, 1'000'000}, "layers",
                        "layers of the last stage; the others share the rest evenly")),
      layout(),
      toggle({"sequence_parallel", "sp"}, FIELD(sequence_parallel),
             "split norms and residuals along the sequence inside tensor groups"),
      choice<ContextCommunication>({"cp_comm_type", ""},
                                   {{"p2p", ContextCommunication::RingP2p},
                                    {"all_gather", ContextCommunication::AllGather},
                                    {"a2a", ContextCommunication::AllToAll}},
                                   FIELD(cp_comm_type), "how context-parallel ranks exchange keys and values"),
      choice<std::optional<ScheduleKind>>(
          {"schedule", "pipeline_schedule"}, schedule_names(), FIELD(schedule),
          "order of microbatches in the pipeline (default 1f1b; interleaved with vpp)"),
      rank_order(),
      integer_list({"placement", ""}, FIELD(placement), {0, most_devices - 1}, "devices",
                   "device of each rank (default: rank r on device r)"),
      in_training_too(integer({"micro_batch_size", "mbs"}, FIELD(micro_batch_size), batch, "sequences",
                              "sequences a microbatch")),
      in_training_too(integer({"global_batch_size", "gbs"}, FIELD(global_batch_size), batch, "sequences",
                              "sequences a step, over all ranks (default: mbs x dp)", 0)),
      in_training_too(integer({"seq_length", ""}, FIELD(seq_length), length, "tokens", "tokens a sequence", 0)),
      in_training_too(integer({"decoder_seq_length", ""}, FIELD(decoder_seq_length), length, "tokens",
                              "tokens of the decoder's sequence in encoder-decoder models", 0)),
      integer({"zero_stage", ""}, FIELD(zero_stage), {0, 3}, "stage",
              "shard over data-parallel ranks: 1 optimizer state, 2 and gradients, 3 and weights"),
      integer({"sharding_degree", ""}, FIELD(sharding_degree), degree, "ranks",
              "hybrid sharding: ranks that share one copy of the shards (default: all)", 0),
      integer({"ddp_bucket_size", ""}, FIELD(ddp_bucket_size), {1, 1'000'000'000'000}, "elements",
              "gradients reduced together (default: the larger of 40,000,000 and 1,000,000 x dp)", 0),
      toggle({"overlap_grad_reduce", ""}, FIELD(overlap_grad_reduce),
             "reduce gradients while the backward pass runs"),
      toggle({"overlap_param_gather", ""}, FIELD(overlap_param_gather),
             "gather parameters while the forward pass runs"),
      toggle({"tp_comm_overlap", ""}, FIELD(tp_comm_overlap),
             "cut tensor-parallel products and their communication into overlapping pieces"),
      toggle({"overlap_p2p_comm", ""}, FIELD(overlap_p2p_comm), "overlap pipeline transfers with computation"),
      choice<RecomputeGranularity>({"recompute_granularity", ""},
                                   {{"none", RecomputeGranularity::None},
                                    {"selective", RecomputeGranularity::Selective},
                                    {"full", RecomputeGranularity::Full}},
                                   FIELD(recompute_granularity),
                                   "activations computed again in the backward pass"),
      choice<RecomputeMethod>(
          {"recompute_method", ""}, {{"uniform", RecomputeMethod::Uniform}, {"block", RecomputeMethod::Block}},
          FIELD(recompute_method), "full recomputation: in equal units, or of the first layers only"),
      integer({"recompute_num_layers", ""}, FIELD(recompute_num_layers), {1, 1'000'000}, "layers",
              "uniform: layers a unit; block: layers a chunk that are recomputed", 0),
      recompute_modules(),
      choice<DType>({"dtype", ""}, dtype_names, FIELD(dtype), "number format of activations and products"),
      toggle({"grad_reduce_in_fp32", ""}, FIELD(grad_reduce_in_fp32), "keep and reduce gradients in fp32"),
      toggle({"gradient_accumulation_fusion", ""}, FIELD(gradient_accumulation_fusion),
             "weight gradients are added up by the products that make them"),
      choice<DType>({"main_params_dtype", ""}, state_names, FIELD(main_params_dtype),
                    "optimizer's copy of the weights"),
      choice<DType>({"main_grads_dtype", ""}, state_names, FIELD(main_grads_dtype),
                    "optimizer's copy of the gradients"),
      choice<DType>({"exp_avg_dtype", ""}, state_names, FIELD(exp_avg_dtype), "Adam's first moment"),
      choice<DType>({"exp_avg_sq_dtype", ""}, state_names, FIELD(exp_avg_sq_dtype), "Adam's second moment"),
      choice<OptimizerKind>({"optimizer", ""}, {{"adam", OptimizerKind::Adam}, {"sgd", OptimizerKind::Sgd}},
                            FIELD(optimizer), "optimizer and with it its state"),
      toggle({"optimizer_cpu_offload", ""}, FIELD(optimizer_cpu_offload),
             "optimizer state and update on the host"),
      choice<AttentionBackend>({"attention_backend", ""},
                               {{"flash", AttentionBackend::Flash}, {"unfused", AttentionBackend::Unfused}},
                               FIELD(attention_backend), "fused attention, or separate products and softmax"),
      toggle({"gradient_clipping", ""}, FIELD(gradient_clipping), "a norm over all gradients each step"),
      integer({"make_vocab_size_divisible_by", ""}, FIELD(make_vocab_size_divisible_by), {1, 1'000'000}, "rows",
              "the vocabulary is padded to a multiple of this times tp (1: not at all)"),
      quantity<Seconds>({"host_seconds_per_step", ""}, parse_seconds, "s", "5 ms", Seconds(1e6),
                        FIELD(host_seconds_per_step), "host work of a step that the devices wait for"),
      quantity<Bytes>({"data_bytes_per_sample", ""}, parse_bytes, "B", "16 KiB", Bytes(1e15),
                      FIELD(data_bytes_per_sample), "input that a sequence takes from the data loader"),
  };
}

#undef FIELD
#undef SHORTHAND

}  // namespace tandem
