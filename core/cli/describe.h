// A model, a cluster and a plan in a line each.
#pragma once
#include <string>

#include "core/cluster/cluster.h"
#include "core/model/model_spec.h"
#include "core/plan/plan.h"

namespace tandem {

std::string describe_model(const ModelSpec&,
                           const ModelGraph&);  // "llama-3.1-8b: 8.03 B parameters, 32 layers, …"
std::string describe_cluster(const Cluster&);   // "dgx-h100:2: 16 x NVIDIA H100 …, rail-optimised"
std::string describe_plan(const Plan&);         // "tp 2 (sp) x dp 8, 1f1b, gbs 128 = …"

}  // namespace tandem
