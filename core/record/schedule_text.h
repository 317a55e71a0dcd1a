// The schedule as people draw it: time to the right, a row a pipeline stage, bubbles left open.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/record/run_record.h"

namespace tandem {

struct ScheduleTextOptions {
  std::size_t width = 100;                // cells, between 1 and 10000
  std::optional<Seconds> start{}, end{};  // by default the measured window (core/record/waiting.h)
  bool communication = true;              // mark idle cells whose rank communicates
};

// Two lines a stage, of its first recorded rank: what the compute lane did for most of the cell, and for which
// microbatch (its last digit). F forward, B backward (input gradient), W weight gradient, R recompute, U
// update; lower case for cells without computation: t c e d p communication of that axis, o copy, i input; '.'
// idle. At the end of the first line the stage's bubble share. A last line explains the letters used.
std::string schedule_text(const RunRecord&, const ScheduleTextOptions& = {});

}  // namespace tandem
