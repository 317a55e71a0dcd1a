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
// Its parts: "forward of mlp.up takes 12 % longer than predicted", and what else is to be said of it: "1,024
// tasks instead of 512", "mlp.down.all_reduce +9 ms on the wires", or nothing.
std::string reason(const Explanation&, const Comparison&);
std::string remark(const Explanation&);

std::string signed_text(Seconds);      // "+34 ms"
std::string count_text(double tasks);  // "96"; "12.5" on average over ranks that have unequally many

}  // namespace tandem
