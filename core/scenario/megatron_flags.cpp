// The table of Megatron-LM's flags (megatron/training/arguments.py and the dataclasses it is generated from).
#include "core/scenario/megatron_flags.h"

#include <fmt/format.h>

namespace tandem {
namespace {

using Meaning = std::vector<std::pair<std::string, std::string>>;

MegatronFlag key(std::string name, int values, std::string of, Meaning meaning) {
  return {std::move(name), MegatronEffect::Key, values, std::move(of), std::move(meaning)};
}

std::vector<MegatronFlag> flags_with_effect() {
  return {
      key("--bf16", 0, "dtype", {{"", "bf16"}}),
      key("--fp16", 0, "dtype", {{"", "fp16"}}),
      key("--fp8-format", 1, "dtype", {{"hybrid", "fp8"}, {"e4m3", "fp8"}}),
      key("--fp8-hybrid", 0, "dtype", {{"", "fp8"}}),
      key("--fp8-e4m3", 0, "dtype", {{"", "fp8"}}),
      key("--use-distributed-optimizer", 0, "zero_stage", {{"", "1"}}),
      key("--use-megatron-fsdp", 0, "zero_stage", {{"", "3"}}),
      key("--use-custom-fsdp", 0, "zero_stage", {{"", "3"}}),
      key("--use-torch-fsdp2", 0, "zero_stage", {{"", "3"}}),
      key("--data-parallel-sharding-strategy", 1, "zero_stage",
          {{"no_shard", "0"}, {"optim", "1"}, {"optim_grads", "2"}, {"optim_grads_params", "3"}}),
      key("--num-virtual-stages-per-pipeline-rank", 1, "virtual_pipeline_model_parallel_size", {{"*", ""}}),
      key("--no-overlap-p2p-communication", 0, "overlap_p2p_comm", {{"", "false"}}),
      key("--overlap-p2p-communication", 0, "overlap_p2p_comm", {{"", "true"}}),
      key("--accumulate-allreduce-grads-in-fp32", 0, "grad_reduce_in_fp32", {{"", "true"}}),
      key("--grad-reduce-in-bf16", 0, "grad_reduce_in_fp32", {{"", "false"}}),
      key("--use-flash-attn", 0, "attention_backend", {{"", "flash"}}),
      key("--attention-backend", 1, "attention_backend",
          {{"flash", "flash"},
           {"fused", "flash"},
           {"auto", "flash"},
           {"unfused", "unfused"},
           {"local", "unfused"}}),
      key("--recompute-activations", 0, "recompute_granularity", {{"", "selective"}}),
      key("--use-tp-pp-dp-mapping", 0, "rank_order", {{"", "tp-cp-ep-pp-dp"}}),
      key("--encoder-seq-length", 1, "seq_length", {{"*", ""}}),
      key("--clip-grad", 1, "gradient_clipping", {{"0", "false"}, {"0.0", "false"}, {"*", "true"}}),
  };
}

// Flags that describe the model, by how many words follow.
std::vector<MegatronFlag> model_flags() {
  std::vector<MegatronFlag> flags;
  for (const char* name : {"--num-layers",
                           "--hidden-size",
                           "--ffn-hidden-size",
                           "--num-attention-heads",
                           "--num-query-groups",
                           "--kv-channels",
                           "--vocab-size",
                           "--padded-vocab-size",
                           "--max-position-embeddings",
                           "--normalization",
                           "--position-embedding-type",
                           "--num-experts",
                           "--moe-router-topk",
                           "--moe-ffn-hidden-size",
                           "--moe-shared-expert-intermediate-size",
                           "--moe-layer-freq",
                           "--q-lora-rank",
                           "--kv-lora-rank",
                           "--attention-dropout",
                           "--hidden-dropout",
                           "--qk-head-dim",
                           "--qk-pos-emb-head-dim",
                           "--v-head-dim",
                           "--encoder-num-layers",
                           "--decoder-num-layers"})
    flags.push_back({name, MegatronEffect::Model, 1});
  for (const char* name : {"--swiglu", "--group-query-attention", "--untie-embeddings-and-output-weights",
                           "--disable-bias-linear", "--add-qkv-bias", "--qk-layernorm",
                           "--multi-latent-attention", "--use-rotary-position-embeddings", "--squared-relu"})
    flags.push_back({name, MegatronEffect::Model, 0});
  return flags;
}

void add(std::vector<MegatronFlag>& flags, MegatronEffect effect, int values,
         std::initializer_list<const char*> names) {
  for (const char* name : names) flags.push_back({name, effect, values});
}

// They change time or memory, and nothing here knows how.
void add_not_modelled(std::vector<MegatronFlag>& flags) {
  add(flags, MegatronEffect::NotModelled, 0,
      {"--distribute-saved-activations",
       "--defer-embedding-wgrad-compute",
       "--delay-wgrad-compute",
       "--overlap-moe-expert-parallel-comm",
       "--moe-shared-expert-overlap",
       "--moe-pad-expert-input-to-capacity",
       "--account-for-embedding-in-pipeline-split",
       "--account-for-loss-in-pipeline-split",
       "--no-masked-softmax-fusion",
       "--no-bias-gelu-fusion",
       "--no-bias-swiglu-fusion",
       "--no-bias-dropout-fusion",
       "--no-rope-fusion",
       "--no-persist-layer-norm",
       "--cross-entropy-loss-fusion",
       "--enable-cuda-graph",
       "--external-cuda-graph",
       "--ddp-average-in-collective",
       "--use-nccl-ub",
       "--fp8-param-gather",
       "--calculate-per-token-loss",
       "--overlap-cpu-optimizer-d2h-h2d",
       "--fine-grained-activation-offloading",
       "--overlap-param-gather-with-optimizer-step",
       "--no-scatter-gather-tensors-in-pipeline",
       "--empty-unused-memory-level",
       "--no-align-grad-reduce",
       "--align-grad-reduce",
       "--use-ring-exchange-p2p",
       "--manual-gc",
       "--enable-experimental"});
  add(flags, MegatronEffect::NotModelled, 1,
      {"--moe-token-dispatcher-type",
       "--moe-expert-capacity-factor",
       "--num-distributed-optimizer-instances",
       "--cpu-offloading-num-layers",
       "--optimizer-offload-fraction",
       "--cuda-graph-impl",
       "--cuda-graph-scope",
       "--mtp-num-layers",
       "--microbatch-group-size-per-virtual-pipeline-stage",
       "--fp8-recipe",
       "--fp8-margin",
       "--fp4-format",
       "--fp8-amax-history-len",
       "--fp8-amax-compute-algo",
       "--wgrad-deferral-limit",
       "--moe-deepep-num-sms",
       "--moe-flex-dispatcher-backend",
       "--window-size",
       "--tp-comm-bootstrap-backend",
       "--tp-comm-overlap-cfg",
       "--suggested-communication-unit-size",
       "--pipeline-model-parallel-comm-backend",
       "--manual-gc-interval"});
  add(flags, MegatronEffect::NotModelled, -1,
      {"--rampup-batch-size", "--hierarchical-context-parallel-sizes", "--offload-modules"});
}

void add_without_effect(std::vector<MegatronFlag>& flags) {
  add(flags, MegatronEffect::None, 0,
      {"--use-mcore-models",
       "--use-legacy-models",
       "--no-load-optim",
       "--no-load-rng",
       "--no-save-optim",
       "--no-save-rng",
       "--finetune",
       "--log-throughput",
       "--log-params-norm",
       "--log-num-zeros-in-grad",
       "--log-timers-to-tensorboard",
       "--log-memory-to-tensorboard",
       "--log-validation-ppl-to-tensorboard",
       "--log-world-size-to-tensorboard",
       "--log-batch-size-to-tensorboard",
       "--log-progress",
       "--log-energy",
       "--mock-data",
       "--no-create-attention-mask-in-dataloader",
       "--no-check-for-nan-in-loss-and-grad",
       "--check-for-nan-in-loss-and-grad",
       "--use-dist-ckpt",
       "--async-save",
       "--ckpt-fully-parallel-save",
       "--ckpt-fully-parallel-load",
       "--ckpt-assume-constant-structure",
       "--auto-detect-ckpt-format",
       "--dist-ckpt-optim-fully-reshardable",
       "--exit-signal-handler",
       "--use-checkpoint-args",
       "--use-checkpoint-opt-param-scheduler",
       "--override-opt-param-scheduler",
       "--use-cpu-initialization",
       "--attention-softmax-in-fp32",
       "--apply-query-key-layer-scaling",
       "--apply-layernorm-1p",
       "--layernorm-zero-centered-gamma",
       "--no-query-key-layer-scaling",
       "--reset-position-ids",
       "--reset-attention-mask",
       "--eod-mask-loss",
       "--profile",
       "--use-pytorch-profiler",
       "--moe-grouped-gemm",
       "--moe-permute-fusion",
       "--moe-router-fusion",
       "--moe-router-force-load-balancing",
       "--moe-router-pre-softmax",
       "--moe-per-layer-logging",
       "--moe-router-enable-expert-bias",
       "--moe-use-upcycling",
       "--use-precision-aware-optimizer",
       "--enable-msc",
       "--skip-train",
       "--deterministic-mode",
       "--disable-straggler-on-startup",
       "--log-straggler",
       "--enable-one-logger",
       "--no-one-logger",
       "--trust-remote-code",
       "--rotary-interleaved",
       "--use-rope-scaling",
       "--init-method-xavier-uniform",
       "--apply-residual-connection-post-layernorm",
       "--exit-on-missing-checkpoint",
       "--no-initialization",
       "--adlr-autoresume",
       "--use-one-sent-docs",
       "--no-mmap-bin-files",
       "--te-rng-tracker",
       "--bias-gelu-fusion",
       "--bias-swiglu-fusion",
       "--bias-dropout-fusion",
       "--masked-softmax-fusion",
       "--persist-layer-norm",
       "--no-barrier-with-level-1-timing",
       "--log-loss-scale-to-tensorboard",
       "--no-log-loss-scale-to-tensorboard",
       "--no-log-learnig-rate-to-tensorboard",
       "--record-memory-history",
       "--run-workload-inspector-server"});
  add(flags, MegatronEffect::None, 1,
      {"--transformer-impl",
       "--lr",
       "--min-lr",
       "--lr-decay-style",
       "--lr-decay-iters",
       "--lr-decay-samples",
       "--lr-warmup-fraction",
       "--lr-warmup-iters",
       "--lr-warmup-samples",
       "--lr-warmup-init",
       "--lr-wsd-decay-iters",
       "--lr-wsd-decay-samples",
       "--lr-wsd-decay-style",
       "--weight-decay",
       "--start-weight-decay",
       "--end-weight-decay",
       "--weight-decay-incr-style",
       "--adam-beta1",
       "--adam-beta2",
       "--adam-eps",
       "--sgd-momentum",
       "--decoupled-lr",
       "--decoupled-min-lr",
       "--init-method-std",
       "--embedding-init-method-std",
       "--loss-scale",
       "--initial-loss-scale",
       "--min-loss-scale",
       "--loss-scale-window",
       "--hysteresis",
       "--train-iters",
       "--train-samples",
       "--exit-interval",
       "--exit-duration-in-mins",
       "--eval-iters",
       "--eval-interval",
       "--save-interval",
       "--save-retain-interval",
       "--log-interval",
       "--tensorboard-log-interval",
       "--save",
       "--load",
       "--pretrained-checkpoint",
       "--ckpt-format",
       "--ckpt-step",
       "--ckpt-convert-format",
       "--ckpt-convert-save",
       "--ckpt-fully-parallel-save-process-group",
       "--dist-ckpt-strictness",
       "--tokenizer-type",
       "--tokenizer-model",
       "--tokenizer-name-or-path",
       "--vocab-file",
       "--merge-file",
       "--vocab-extra-ids",
       "--tiktoken-pattern",
       "--split",
       "--num-workers",
       "--data-cache-path",
       "--dataloader-type",
       "--num-dataset-builder-threads",
       "--data-impl",
       "--tensorboard-dir",
       "--tensorboard-queue-size",
       "--wandb-project",
       "--wandb-exp-name",
       "--wandb-save-dir",
       "--wandb-entity",
       "--timing-log-level",
       "--timing-log-option",
       "--distributed-backend",
       "--distributed-timeout-minutes",
       "--local-rank",
       "--lazy-mpu-init",
       "--rotary-base",
       "--rotary-percent",
       "--rotary-scaling-factor",
       "--rope-scaling-factor",
       "--rotary-seq-len-interpolation-factor",
       "--norm-epsilon",
       "--layernorm-epsilon",
       "--moe-aux-loss-coeff",
       "--moe-z-loss-coeff",
       "--moe-router-load-balancing-type",
       "--moe-router-score-function",
       "--moe-router-topk-scaling-factor",
       "--moe-router-num-groups",
       "--moe-router-group-topk",
       "--moe-router-dtype",
       "--moe-router-bias-update-rate",
       "--moe-token-drop-policy",
       "--moe-input-jitter-eps",
       "--mtp-loss-scaling-factor",
       "--profile-step-start",
       "--profile-step-end",
       "--profile-ranks",
       "--log-level",
       "--logging-level",
       "--straggler-ctrlr-port",
       "--straggler-minmax-count",
       "--data-args-path",
       "--per-split-data-args-path",
       "--retro-project-dir",
       "--mscale",
       "--mscale-all-dim",
       "--check-weight-hash-across-dp-replicas-interval",
       "--non-persistent-save-interval",
       "--non-persistent-ckpt-type",
       "--inference-batch-times-seqlen-threshold",
       "--result-rejected-tracker-filename",
       "--config-logger-dir",
       "--one-logger-project",
       "--one-logger-run-name",
       "--app-tag-run-name",
       "--app-tag-run-version",
       "--rerun-mode",
       "--node_rank",
       "--node-rank",
       "--master_addr",
       "--master-addr",
       "--master_port",
       "--master-port",
       "--rdzv_backend",
       "--rdzv-backend",
       "--rdzv_endpoint",
       "--rdzv-endpoint",
       "--rdzv_id",
       "--rdzv-id",
       "--max_restarts",
       "--max-restarts",
       "--tee",
       "--log_dir",
       "--log-dir",
       "--redirects"});
  add(flags, MegatronEffect::None, -1,
      {"--data-path", "--train-data-path", "--valid-data-path", "--test-data-path"});
  add(flags, MegatronEffect::Nodes, 1, {"--nnodes", "--nproc_per_node", "--nproc-per-node"});
}

}  // namespace

const std::vector<MegatronFlag>& megatron_flags() {
  static const std::vector<MegatronFlag> flags = [] {
    std::vector<MegatronFlag> all = flags_with_effect();
    for (MegatronFlag& flag : model_flags()) all.push_back(std::move(flag));
    add_not_modelled(all);
    add_without_effect(all);
    return all;
  }();
  return flags;
}

const MegatronFlag* find_megatron_flag(std::string_view name) {
  for (const MegatronFlag& flag : megatron_flags())
    if (flag.name == name) return &flag;
  return nullptr;
}

void take_megatron_flag(const MegatronFlag& flag, const Where& where, const std::vector<std::string>& values,
                        MegatronArguments& arguments, Problems& problems) {
  std::string joined;
  for (const std::string& value : values) joined += (joined.empty() ? "" : " ") + value;
  switch (flag.effect) {
    case MegatronEffect::None:
      arguments.without_effect.push_back(flag.name);
      return;
    case MegatronEffect::NotModelled:
      // The exchange of tokens that is modelled is the all-to-all.
      if (flag.name != "--moe-token-dispatcher-type" || joined != "alltoall")
        arguments.not_modelled.push_back(joined.empty() ? flag.name : flag.name + " " + joined);
      return;
    case MegatronEffect::Nodes:
      arguments.nodes[flag.name] = {joined, where};
      return;
    case MegatronEffect::Model: {
      const auto [earlier, fresh] = arguments.model.emplace(flag.name, Word{joined, where});
      if (!fresh && earlier->second.text != joined)
        problems.add(where,
                     fmt::format("{} is given twice: {} and {}", flag.name, earlier->second.text, joined));
      return;
    }
    case MegatronEffect::Key:
      break;
  }
  std::string wanted;
  for (const auto& [typed, meaning] : flag.meaning) {
    if (typed == joined || typed == "*") {
      arguments.overrides.push_back({flag.key, meaning.empty() ? joined : meaning, where});
      return;
    }
    wanted += (wanted.empty() ? "" : ", ") + typed;
  }
  problems.add(where, fmt::format("{} {} is not understood", flag.name, joined),
               "one of " + wanted + " is wanted");
}

}  // namespace tandem
