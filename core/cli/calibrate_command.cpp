// tandem calibrate.
#include <fmt/format.h>

#include <ctime>

#include "core/cli/output_file.h"
#include "core/cli/profile_of_record.h"
#include "core/cli/run_context.h"
#include "core/cost/calibration.h"
#include "core/record/atomic_file.h"

namespace tandem {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  gmtime_r(&now, &date);
  return fmt::format("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

// Medians of what records hold, and how many records there were.
std::vector<ProfileRow> profile_of(const std::vector<std::string>& files, const Library& library) {
  ProfileBuilder builder;
  std::string names;
  for (const std::string& file : files) {
    add_record(read_record(file), file, library, builder);
    names += (names.empty() ? "" : ", ") + file.substr(file.rfind('/') + 1);
  }
  return builder.rows(fmt::format("tandem calibrate {}: medians of {}", today(), names));
}

}  // namespace

int run_calibrate(RunContext& run) {
  const std::string file = run.arguments.value("--output");
  if (file.empty()) refuse({}, "calibrate: no file to write is named", "add -o FILE.toml");
  const auto from = run.arguments.options.find("--from");
  if (from == run.arguments.options.end()) {
    check_output_file(file, run.arguments.operands);
    if (!run.backends.calibrate) run.backends.start_executor();
    return run.backends.calibrate(run);
  }
  for (const char* name : {"--threads-per-rank", "--slices", "--pace"})
    if (run.arguments.has(name))
      refuse({}, fmt::format("calibrate: {} says how to measure, and --from measures nothing", name),
             fmt::format("leave {} or --from out", name));
  check_output_file(file, from->second);
  const std::vector<ProfileRow> rows = profile_of(from->second, read_library(run.scenarios));
  write_file(file, [&](std::ostream& out) { out << to_toml({}, rows); });
  run.out.line(fmt::format("{} tables of measured times in {}", rows.size(), file));
  return 0;
}

}  // namespace tandem
