// Which tasks are known to be done when a task starts, and the waits that values need beyond that.
#include <array>

#include "core/dataflow/data_flow.h"
#include "core/dataflow/finished_before.h"

namespace tandem {
namespace {

// Who touched a value last.
struct Touches {
  std::uint32_t writer = whole_step;
  std::vector<std::uint32_t> readers;  // since then
};

}  // namespace

void add_missing_waits(DataFlow& flow, const Program& program) {
  FinishedBefore finished(program);
  std::vector<Touches> touches(flow.values.size());
  for (std::uint32_t task = 0; task < program.tasks.size(); ++task) {
    finished.start(task);
    const auto wait = [&](std::uint32_t earlier) {
      if (earlier == whole_step || earlier == task || finished(earlier)) return;
      flow.extra_after[task].push_back(earlier);
      finished.wait(earlier);
    };
    for (const Operand& operand : flow.operands[task]) {
      Touches& touched = touches[operand.value.value];
      wait(touched.writer);
      if (operand.access == Operand::Access::Read) continue;
      for (std::uint32_t reader : touched.readers) wait(reader);
    }
    for (const Operand& operand : flow.operands[task]) {
      Touches& touched = touches[operand.value.value];
      if (operand.access == Operand::Access::Read)
        touched.readers.push_back(task);
      else
        touched = {task, {}};
    }
    finished.end();
  }
}

}  // namespace tandem
