// Spans as lines of comma-separated values.
#include "core/record/csv.h"

#include <fmt/format.h>

#include <iterator>

namespace tandem {
namespace {

std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string number_or_empty(std::uint32_t value, std::uint32_t none) {
  return value == none ? "" : std::to_string(value);
}

}  // namespace

void write_csv(const RunRecord& record, std::ostream& out) {
  out << csv_heading << "\n";
  fmt::memory_buffer buffer;
  for (std::size_t i = 0; i < record.spans.size(); ++i) {
    const RecordSpan& span = record.spans[i];
    const RecordLane& lane = record.lanes[span.lane];
    const RecordTask& task = record.tasks[span.task];
    fmt::format_to(
        std::back_inserter(buffer), "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", i,
        lane.rank.value, name(lane.lane), lane.stage, lane.device, lane.node, span.step, span.start.value,
        span.end.value, (span.end - span.start).value, quoted(task.label), name(task.phase), name(task.kind),
        number_or_empty(task.microbatch, no_microbatch), number_or_empty(task.message, no_message), task.chunk,
        name(static_cast<HeldBy>(span.held_by)), number_or_empty(span.cause, no_span), quoted(task.detail),
        task.flops.value, task.bytes.value, task.group_size);
    if (buffer.size() < 1 << 16) continue;
    out.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    buffer.clear();
  }
  out.write(buffer.data(), static_cast<std::streamsize>(buffer.size()));
}

}  // namespace tandem
