// Names of phases, parameter counts and rows of operators.
#include "core/model/operator.h"

namespace tandem {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::Forward:
      return "forward";
    case Phase::InputGradient:
      return "input gradient";
    case Phase::WeightGradient:
      return "weight gradient";
    case Phase::Recompute:
      return "recompute";
    case Phase::Update:
      return "update";
  }
  return "?";
}

std::int64_t parameter_count(const Operator& op) {
  std::int64_t count = 0;
  for (const Parameter& parameter : op.parameters) count += parameter.count;
  return count;
}

std::int64_t rows(const Operator& op, const TokenShape& shape) {
  if (op.per_sequence) return shape.batch;
  const std::int64_t tokens = shape.batch * (op.sequence == Sequence::Main ? shape.main : shape.encoder);
  if (const auto* linear = std::get_if<ExpertLinear>(&op.kind)) return tokens * linear->top_k;
  if (const auto* activation = std::get_if<ExpertActivation>(&op.kind)) return tokens * activation->top_k;
  return tokens;
}

}  // namespace tandem
