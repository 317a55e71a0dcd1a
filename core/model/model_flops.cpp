// Sums the matrix products of a graph over the three phases of training.
#include "core/model/model_flops.h"

namespace tandem {
namespace {

bool is_matrix_product(const OperatorKind& kind) {
  return std::holds_alternative<Linear>(kind) || std::holds_alternative<ExpertLinear>(kind) ||
         std::holds_alternative<Router>(kind) || std::holds_alternative<Attention>(kind);
}

}  // namespace

Flops model_flops(const ModelGraph& graph, const TokenShape& shape, AttentionFlops convention) {
  Flops total;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    Operator op = graph[OperatorId(i)];
    if (!is_matrix_product(op.kind)) continue;
    if (auto* attention = std::get_if<Attention>(&op.kind); attention && convention == AttentionFlops::Full) {
      attention->mask = AttentionMask::Full;
      attention->window = 0;
    }
    total += flops(op, Phase::Forward, shape) + flops(op, Phase::WeightGradient, shape);
    // Pixels need no gradient: a product that reads no tensor of the graph has no input gradient.
    if (!graph.inputs(OperatorId(i)).empty()) total += flops(op, Phase::InputGradient, shape);
  }
  return total;
}

}  // namespace tandem
