// Losses of the steps that two runs share.
#pragma once
#include "core/compare/comparison.h"

namespace tandem {

LossComparison compare_losses(const RunRecord& a, const RunRecord& b);

}  // namespace tandem
