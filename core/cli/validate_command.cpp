// tandem validate.
#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "core/cli/run_context.h"
#include "core/record/atomic_file.h"
#include "core/validate/timings.h"
#include "core/validate/validation_report.h"

namespace tandem {
namespace {

constexpr std::size_t worst_shown = 20;

void write_files(const ValidationReport& report, const std::shared_ptr<const Calibration>& calibration,
                 const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw BackendError(fmt::format("cannot make the folder {}: {}", folder, error.message()));
  const auto write = [&](const char* name, const std::string& text) {
    write_file((fs::path(folder) / name).string(), [&](std::ostream& out) { out << text; });
  };
  write("rows.csv", rows_csv(report));
  write("scatter.svg", scatter_svg(report));
  write("worst.txt", worst_rows(report, calibration, worst_shown));
}

}  // namespace

int run_validate(RunContext& run) {
  const Arguments& arguments = run.arguments;
  if (arguments.operands.empty())
    refuse({}, "tandem validate needs a table of runs", "tandem validate scenarios/published/runs.csv");
  const Library library = read_library(run.scenarios);
  const std::string calibrations = (std::filesystem::path(run.scenarios) / "calibrations").string();
  const auto calibration = read_calibration(calibrations, arguments.value("--calibration"));
  const CsvTable table = read_csv(arguments.operands.front());
  if (arguments.has("--kernels") || arguments.has("--collectives")) {
    const bool kernels = arguments.has("--kernels");
    if (kernels && arguments.has("--collectives"))
      refuse({}, "--kernels and --collectives are of different tables", "give one of them");
    if (!arguments.value("--output").empty())
      refuse({}, "--output is for tables of runs", "leave it out with --kernels and --collectives");
    const TimingReport timings = kernels ? validate_kernels(table, library.catalog, *calibration)
                                         : validate_collectives(table, library.catalog, *calibration);
    run.out.add(arguments.has("--json") ? timing_json(timings)
                                        : timing_text(timings, kernels ? "kernel times" : "collective times"));
    return 0;
  }
  std::optional<ValidationReport> report;
  {
    Progress progress(run.surroundings.messages_are_terminal && !arguments.has("--quiet"));
    ValidateOptions options;
    options.progress = [&](double share) {
      progress.show("predicting rows", share);
      return !run.interrupted();
    };
    report = validate(table, library, calibration, options);
  }
  if (!report) return exit_interrupted;
  if (const std::string folder = arguments.value("--output"); !folder.empty())
    write_files(*report, calibration, folder);
  run.out.add(arguments.has("--json") ? validation_json(*report) : validation_text(*report));
  return 0;
}

}  // namespace tandem
