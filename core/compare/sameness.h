// Whether two records ran the same model, plan and cluster, and which settings differ.
#pragma once
#include "core/compare/comparison.h"

namespace tandem {

Sameness sameness(const RecordHeader& a, const RecordHeader& b);

}  // namespace tandem
