// Every number of a plan on its own: negative, zero and absurd values.
#include <fmt/format.h>

#include <cmath>

#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

// Larger than any machine, batch or sequence in use, and small enough that products of two stay exact.
constexpr std::int64_t kMost = 1'000'000'000;
constexpr std::int64_t kMostVocabularyStep = 1'000'000;

struct Range {
  const char* key;
  std::int64_t value, least, most;
};

void check_range(PlanDraft& draft, const Range& range) {
  const std::string key = range.key;
  if (range.value < range.least)
    draft.refuse(key, fmt::format("{} = {} is less than {}", key, range.value, range.least),
                 fmt::format("use at least {}", range.least));
  else if (range.value > range.most)
    draft.refuse(key, fmt::format("{} = {} is more than {}", key, range.value, range.most),
                 fmt::format("use at most {}", range.most));
}

// 0 stands for "not given" and is a mistake when typed.
void check_optional(PlanDraft& draft, const Range& range) {
  const std::string key = range.key;
  if (range.value == 0 && draft.typed(key))
    draft.refuse(key, fmt::format("{} = 0 makes no sense", key), "use at least 1, or leave it out");
  else if (range.value != 0)
    check_range(draft, range);
}

void check_known(PlanDraft& draft, const char* key, double value) {
  if (!std::isfinite(value) || value < 0)
    draft.refuse(key, fmt::format("{} = {} is not a finite number from 0 on", key, value),
                 "use 0 where it is not known");
}

void check_state_dtype(PlanDraft& draft, const char* key, DType dtype) {
  if (dtype == DType::Fp8)
    draft.refuse(key, fmt::format("{} = fp8 is too coarse to accumulate in", key), "use fp32, bf16 or fp16");
}

}  // namespace

void check_ranges(PlanDraft& draft) {
  const PlanSpec& spec = draft.spec;
  for (const Range& range :
       {Range{"tensor_model_parallel_size", spec.tensor_model_parallel_size, 1, kMost},
        Range{"pipeline_model_parallel_size", spec.pipeline_model_parallel_size, 1, kMost},
        Range{"context_parallel_size", spec.context_parallel_size, 1, kMost},
        Range{"expert_model_parallel_size", spec.expert_model_parallel_size, 1, kMost},
        Range{"micro_batch_size", spec.micro_batch_size, 1, kMost}, Range{"zero_stage", spec.zero_stage, 0, 3},
        Range{"recompute_num_layers", spec.recompute_num_layers, 0, kMost},
        Range{"ddp_bucket_size", spec.ddp_bucket_size, 0, kMost * kMost},
        Range{"make_vocab_size_divisible_by", spec.make_vocab_size_divisible_by, 1, kMostVocabularyStep}})
    check_range(draft, range);
  for (const Range& range :
       {Range{"expert_tensor_parallel_size", spec.expert_tensor_parallel_size, 1, kMost},
        Range{"data_parallel_size", spec.data_parallel_size, 1, kMost},
        Range{"virtual_pipeline_model_parallel_size", spec.virtual_pipeline_model_parallel_size, 1, kMost},
        Range{"global_batch_size", spec.global_batch_size, 1, kMost},
        Range{"seq_length", spec.seq_length, 1, kMost},
        Range{"decoder_seq_length", spec.decoder_seq_length, 1, kMost},
        Range{"sharding_degree", spec.sharding_degree, 1, kMost}})
    check_optional(draft, range);
  check_known(draft, "host_seconds_per_step", spec.host_seconds_per_step.value);
  check_known(draft, "data_bytes_per_sample", spec.data_bytes_per_sample.value);
  check_state_dtype(draft, "main_params_dtype", spec.main_params_dtype);
  check_state_dtype(draft, "main_grads_dtype", spec.main_grads_dtype);
  if (spec.optimizer_cpu_offload)
    draft.refuse("optimizer_cpu_offload",
                 "optimizer_cpu_offload = true: what an update on the host takes is not modelled",
                 "leave it out; zero_stage = 1 shards the optimizer's state instead");
}

}  // namespace tandem
