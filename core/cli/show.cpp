// tandem show, tandem export: what a record says, for people and for other viewers.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/cli/output_file.h"
#include "core/cli/report.h"
#include "core/cli/run_context.h"
#include "core/record/critical_path.h"
#include "core/record/export_record.h"
#include "core/record/schedule_text.h"
#include "core/units/text.h"

namespace tandem {
namespace {

RunRecord record_of(const RunContext& run) {
  if (run.arguments.operands.empty())
    refuse({}, "no record is given",
           fmt::format("tandem {} FILE.tandem; tandem predict -o FILE.tandem writes one",
                       run.arguments.command->name));
  return read_record(run.arguments.operands.front());
}

// Kinds of task with the time they take in the step, most first: number, mean time, what they do.
void write_costs(const RunRecord& record, Output& out) {
  struct Kind {
    double total = 0;
    std::size_t count = 0;
    const RecordTask* example = nullptr;
  };
  std::map<std::string, Kind> kinds;
  for (const RecordSpan& span : record.spans) {
    const RecordTask& task = record.tasks[span.task];
    const std::string detail = task.detail.empty() ? std::string(name(task.kind)) : task.detail;
    Kind& kind = kinds[fmt::format("{}\n{}", name(task.phase), detail)];
    kind.total += (span.end - span.start).value;
    ++kind.count;
    if (kind.example == nullptr) kind.example = &task;
  }
  std::vector<std::pair<std::string, Kind>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  constexpr std::size_t most = 40;
  out.line(out.styled("what takes how long", Style::Title) + " (recorded ranks together)");
  std::vector<std::vector<std::string>> rows{{"all", "times", "each", "rate", "phase", "example", "work"}};
  for (std::size_t i = 0; i < sorted.size() && i < most; ++i) {
    const auto& [key, kind] = sorted[i];
    const double each = kind.total / static_cast<double>(kind.count);
    std::string rate = "-";
    if (each > 0 && kind.example->flops.value > 0)
      rate = text(kind.example->flops / Seconds(each));
    else if (each > 0 && kind.example->bytes.value > 0)
      rate = text(kind.example->bytes / Seconds(each));
    rows.push_back({text(Seconds(kind.total)), fmt::format("{}", kind.count), text(Seconds(each)), rate,
                    std::string(name(kind.example->phase)), kind.example->label,
                    key.substr(key.find('\n') + 1)});
  }
  out.add(table(rows, {true, true, true, true, false, false, false}));
  out.line();
  out.line(out.styled("where the numbers come from", Style::Title));
  for (std::size_t i = 0; i < sorted.size() && i < most; ++i) {
    const RecordTask& example = *sorted[i].second.example;
    if (example.origin == no_origin) continue;
    out.line(fmt::format("  {}/{}: {}", example.label, name(example.phase), record.origins[example.origin]));
  }
  if (sorted.size() > most) out.line(fmt::format("  and {} kinds more", sorted.size() - most));
  out.line();
}

}  // namespace

int run_show(RunContext& run) {
  const Arguments& arguments = run.arguments;
  const std::size_t width =
      static_cast<std::size_t>(arguments.number("--width", 20, 10000).value_or(run.surroundings.columns));
  const RunRecord record = record_of(run);
  if (arguments.has("--json")) {
    run.out.add(summary_json(record));
    return 0;
  }
  const bool part = arguments.has("--breakdown") || arguments.has("--memory") ||
                    arguments.has("--critical-path") || arguments.has("--schedule") || arguments.has("--costs");
  if (!part) write_report(record, {}, run.out);
  if (arguments.has("--breakdown")) write_breakdown(record, run.out);
  if (arguments.has("--memory")) write_memory(record, run.out);
  if (arguments.has("--critical-path")) run.out.add(text(critical_path(record), record));
  if (arguments.has("--schedule")) run.out.add(schedule_text(record, {.width = width}));
  if (arguments.has("--costs")) write_costs(record, run.out);
  return 0;
}

int run_export(RunContext& run) {
  const Arguments& arguments = run.arguments;
  const std::string format_name = arguments.value("--format"), target = arguments.value("--output");
  Problems problems;
  if (format_name.empty()) problems.add({}, "no format is given", "add --format chrome, perfetto or csv");
  if (target.empty()) problems.add({}, "no file to write is given", "add -o OUT, or -o - for standard output");
  problems.throw_if_any();
  ExportOptions options;
  if (const auto rank = arguments.number("--rank", 0, most_devices - 1))
    options.rank = RankId(static_cast<std::size_t>(*rank));
  if (target != "-" && !arguments.operands.empty()) check_output_file(target, arguments.operands);
  const RunRecord record = record_of(run);
  const auto format = parse_export_format(format_name);
  check(format.has_value(), "the option's choices are the formats");
  if (target != "-") {
    export_record(record, *format, options, target);
    return 0;
  }
  std::ostringstream stream;
  export_record(record, *format, options, stream);
  run.out.add(stream.str());
  return 0;
}

}  // namespace tandem
