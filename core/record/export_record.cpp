// Chooses the export by format, keeps one rank when asked, and writes files atomically.
#include "core/record/export_record.h"

#include <fmt/format.h>

#include <set>

#include "core/problem/problem.h"
#include "core/record/atomic_file.h"
#include "core/record/chrome_trace.h"
#include "core/record/csv.h"
#include "core/record/perfetto_trace.h"

namespace tandem {
namespace {

constexpr ExportFormat formats[] = {ExportFormat::Chrome, ExportFormat::Perfetto, ExportFormat::Csv};

RunRecord only_rank(const RunRecord& record, RankId rank) {
  RunRecord part = record;
  part.lanes.clear();
  part.spans.clear();
  std::vector<std::uint32_t> new_lane(record.lanes.size(), no_span), new_span(record.spans.size(), no_span);
  for (std::uint32_t i = 0; i < record.lanes.size(); ++i) {
    if (record.lanes[i].rank != rank) continue;
    new_lane[i] = static_cast<std::uint32_t>(part.lanes.size());
    part.lanes.push_back(record.lanes[i]);
  }
  if (part.lanes.empty()) {
    std::set<std::uint32_t> ranks;
    for (const RecordLane& lane : record.lanes) ranks.insert(lane.rank.value);
    throw InputError(Problem{{},
                             fmt::format("rank {} is not in the record", rank.value),
                             fmt::format("recorded ranks: {}", fmt::join(ranks, ", "))});
  }
  for (std::uint32_t i = 0; i < record.spans.size(); ++i) {
    if (new_lane[record.spans[i].lane] == no_span) continue;
    new_span[i] = static_cast<std::uint32_t>(part.spans.size());
    part.spans.push_back(record.spans[i]);
    part.spans.back().lane = new_lane[record.spans[i].lane];
  }
  for (RecordSpan& span : part.spans)
    if (span.cause != no_span) span.cause = new_span[span.cause];
  std::erase_if(part.memory, [&](const RecordMemory& sample) { return sample.rank != rank; });
  return part;
}

}  // namespace

std::string_view name(ExportFormat format) {
  switch (format) {
    case ExportFormat::Chrome:
      return "chrome";
    case ExportFormat::Perfetto:
      return "perfetto";
    case ExportFormat::Csv:
      return "csv";
  }
  return "?";
}

std::optional<ExportFormat> parse_export_format(std::string_view text) {
  for (const ExportFormat format : formats)
    if (text == name(format)) return format;
  return std::nullopt;
}

void export_record(const RunRecord& record, ExportFormat format, const ExportOptions& options,
                   std::ostream& out) {
  if (options.rank) return export_record(only_rank(record, *options.rank), format, {}, out);
  switch (format) {
    case ExportFormat::Chrome:
      return write_chrome_trace(record, out);
    case ExportFormat::Perfetto:
      return write_perfetto_trace(record, out);
    case ExportFormat::Csv:
      return write_csv(record, out);
  }
}

void export_record(const RunRecord& record, ExportFormat format, const ExportOptions& options,
                   const std::string& path) {
  if (options.rank) return export_record(only_rank(record, *options.rank), format, {}, path);
  write_file(path, [&](std::ostream& out) { export_record(record, format, options, out); });
}

}  // namespace tandem
