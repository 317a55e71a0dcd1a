// A schedule as text that a person can look at: one row a stage, time from left to right.
#pragma once
#include <cstddef>
#include <string>

#include "core/plan/schedule.h"

namespace tandem {

// Forward, input gradient and weight gradient take one unit each; transfers take nothing. Idle time is dotted.
// The most detailed of three drawings that is at most `width` columns wide:
// - "F0 B0----": phase and microbatch of every slot; with several chunks a stage, odd chunks in lower case;
// - one column a unit: forwards as the last digit of their microbatch, gradients as a letter (a is 0, j is 9),
//   weight gradients that are slots of their own as '+';
// - several units a column: F, B or W, whatever fills most of it, x where forward and backward share it.
//
// A legend follows. A pair that is worked on together is drawn one after the other. Rows end in a newline; with
// more than `rows` stages, the middle ones are left out and counted.
std::string draw(const Schedule&, std::size_t width = 100, std::size_t rows = 64);

}  // namespace tandem
