// Megatron's other ways to say how layers are split over stages.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/value.h"

namespace tandem {

// "Et*3|(tt|)*5tttL" -> layers of each chunk. Nothing when it is not understood, or puts embedding or loss
// elsewhere than at the ends.
std::optional<std::vector<std::int64_t>> layers_of_layout(const std::string& layout);

// Turns the scenario's shorthand into pipeline_layers and virtual_pipeline_model_parallel_size, once the model
// is known.
void resolve_shorthand(Scenario& scenario, Problems& problems);

}  // namespace tandem
