// What has amounts but no operands yet.
#include "core/dataflow/data_flow.h"

namespace tandem {

bool has_data_flow(const ModelGraph& model, const Plan& plan) {
  const PlanSpec& spec = plan.spec;
  if (spec.tp_comm_overlap || (spec.dtype != DType::Fp32 && spec.dtype != DType::Bf16)) return false;
  if (spec.attention_backend == AttentionBackend::Unfused && plan.mesh.shape().cp > 1) return false;
  for (std::uint32_t o = 0; o < model.size(); ++o) {
    const OperatorKind& kind = model[OperatorId(o)].kind;
    const auto* residual = std::get_if<Residual>(&kind);
    const auto* attention = std::get_if<Attention>(&kind);
    if ((residual && residual->dropout) || (attention && attention->dropout)) return false;
  }
  return true;
}

}  // namespace tandem
