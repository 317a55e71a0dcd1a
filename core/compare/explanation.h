// What makes one step longer than the other, in parts and in words.
#pragma once
#include <string>

#include "core/compare/comparison.h"

namespace tandem {

// Every kind of computation and every other activity of a step (core/record/breakdown.h), largest change
// first; those that do not change are left out.
std::vector<Explanation> explanations(const Comparison&);

// "forward of mlp.up takes 12 % longer than predicted: +34 ms of +80 ms".
std::string text(const Explanation&, const Comparison&);

}  // namespace tandem
