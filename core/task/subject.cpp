// Spelling of parts.
#include "core/task/subject.h"

#include <array>
#include <cstddef>

namespace tandem {

std::string_view name(Part part) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Part::Count)> names{
      "",
      "",
      "cast",
      "choose",
      "scores",
      "softmax",
      "dropout",
      "context",
      "value_gradient",
      "probability_gradient",
      "query_gradient",
      "key_gradient",
      "bias",
      "accumulate",
      "sum",
      "gradient_sum",
      "all_gather",
      "all_reduce",
      "reduce_scatter",
      "ring_gather",
      "ring_scatter",
      "gradient_all_gather",
      "gradient_all_reduce",
      "gradient_reduce_scatter",
      "input_all_gather",
      "maximum",
      "target",
      "sum",
      "all_to_all_qkv",
      "all_to_all_out",
      "all_gather_kv",
      "ring_kv",
      "gradient_all_to_all_out",
      "gradient_all_to_all_qkv",
      "gradient_all_gather_kv",
      "gradient_reduce_scatter_kv",
      "gradient_ring_kv",
      "gradient_ring_dkv",
      "all_to_all",
      "gradient_all_to_all",
      "all_reduce",
      "reduce_scatter",
      "all_gather",
      "host",
      "input",
      "gradients.zero",
      "gradients.mirror.all_reduce",
      "embedding.word.gradient.all_reduce",
      "replicated_gradients.all_reduce",
      "gradient_norm",
      "gradient_norm.all_reduce",
      "optimizer",
      "activation.send",
      "activation.receive",
      "gradient.send",
      "gradient.receive",
  };
  return names[static_cast<std::size_t>(part)];
}

}  // namespace tandem
