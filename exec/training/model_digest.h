// A model as a number: what two models must share for one to go on from the other's checkpoint.
#pragma once
#include <cstdint>

#include "core/model/model_graph.h"

namespace tandem {

// Of all operators with their names, sizes, kinds and parameters; a model's name and what only changes costs
// have no part in it. A constant of a kernel that the graph does not hold (the base of rotary angles, an
// epsilon) does not show.
std::uint64_t model_digest(const ModelGraph&);

}  // namespace tandem
