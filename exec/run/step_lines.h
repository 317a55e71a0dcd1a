// What a person sees while a run goes on: a line a step, or on a terminal one line that changes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "core/units/quantity.h"

namespace tandem {

struct StepLine {
  std::int64_t step = 0, steps = 0;  // done, of
  double loss = 0;
  std::optional<double> floor;  // shown once
  double tokens = 0;            // a step
  std::optional<double> mfu;
  Seconds duration = {}, left = {};
  Bytes memory = {};  // resident, all ranks of the largest process
};
// "step 12/100  loss 4.1234 (floor 1.7)  12.3 k tokens/s  MFU 34.2 %  0.31 s  1.2 GiB  1 min left".
std::string text(const StepLine&);

class StepLines {
 public:
  StepLines(bool shown, bool terminal) : shown_(shown), terminal_(terminal) {}
  ~StepLines() { end(); }
  StepLines(const StepLines&) = delete;
  StepLines& operator=(const StepLines&) = delete;

  void show(const StepLine&);
  void end();  // keeps the last line

 private:
  bool shown_, terminal_, open_ = false;
};

}  // namespace tandem
