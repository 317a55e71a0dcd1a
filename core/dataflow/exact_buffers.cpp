// Values as the buffers of a program.
#include <algorithm>

#include "core/dataflow/data_flow.h"

namespace tandem {

std::vector<Buffer> exact_buffers(const DataFlow& flow, const Program& program) {
  const auto label = [&](const Value& value) {
    if (value.take != whole_step) return program.tasks[value.take].label;
    const auto named = std::find_if(program.buffers.begin(), program.buffers.end(), [&](const Buffer& buffer) {
      return buffer.take == whole_step && buffer.memory_class == value.memory_class;
    });
    return named == program.buffers.end() ? LabelId(0) : named->label;
  };
  std::vector<Buffer> buffers;
  buffers.reserve(flow.values.size());
  for (const Value& value : flow.values)
    buffers.push_back({value.memory_class, value.size, value.take, value.give, label(value)});
  return buffers;
}

}  // namespace tandem
