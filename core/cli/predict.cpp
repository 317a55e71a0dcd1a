// tandem predict, tandem check.
#include <fmt/format.h>

#include "core/cli/describe.h"
#include "core/cli/output_file.h"
#include "core/cli/prediction.h"
#include "core/cli/report.h"
#include "core/cli/run_context.h"

namespace tandem {

namespace {

// What the command reads, as far as it was named: the scenario, the model file, the pasted flags.
std::vector<std::string> input_files(const Arguments& arguments, const Library& library) {
  std::vector<std::string> files;
  for (const std::string& operand : arguments.operands) files.push_back(find_scenario(operand, library));
  for (const char* option : {"--model", "--megatron-args"})
    if (const std::string file = arguments.value(option); !file.empty()) files.push_back(file);
  return files;
}

void check_record_file(const Arguments& arguments, const Library& library) {
  const std::string file = arguments.value("--output");
  if (file.empty()) return;
  if (file == "-")
    refuse({}, "--output -: a record is a database and needs a file",
           "give -o FILE.tandem, or --json for standard output");
  check_output_file(file, input_files(arguments, library));
}

}  // namespace

int run_predict(RunContext& run) {
  const Library library = read_library(run.scenarios);
  Scenario scenario = scenario_of(run.arguments, library);
  check_record_file(run.arguments, library);
  const bool simulated = scenario.simulation.fidelity != PlayLevel::Estimate;
  if (simulated && !run.backends.simulate) {
    prepare(scenario);  // problems are said here, by the program that was called
    run.backends.start_simulator();
  }
  const bool quiet = run.arguments.has("--quiet");
  std::optional<RunRecord> record;
  {
    Progress progress(run.surroundings.messages_are_terminal && !quiet);
    PredictOptions options{
        .simulate = run.backends.simulate, .progress = {}, .texts = !run.arguments.value("--output").empty()};
    options.progress = [&](std::string_view what, double share) {
      progress.show(what, share);
      return !run.interrupted();
    };
    record = predict(scenario, run.scenarios, options);
  }
  if (!record || run.interrupted()) return exit_interrupted;
  if (const std::string file = run.arguments.value("--output"); !file.empty()) write_record(*record, file);
  if (run.arguments.has("--json"))
    run.out.add(summary_json(*record));
  else
    write_report(*record, {.remarks = !quiet}, run.out);
  return 0;
}

int run_check(RunContext& run) {
  const Library library = read_library(run.scenarios);
  const Scenario scenario = scenario_of(run.arguments, library);
  const Prepared prepared = prepare(scenario);
  cost_model_of(scenario, prepared.cluster, run.scenarios);
  if (run.arguments.has("--resolved")) {
    run.out.add(to_toml(scenario));
    return 0;
  }
  run.out.add(table({{"model", describe_model(scenario.model, prepared.model)},
                     {"cluster", describe_cluster(prepared.cluster)},
                     {"plan", describe_plan(prepared.plan)}},
                    {false, false}, ""));
  for (const auto* remarks : {&prepared.plan.remarks, &scenario.model.notes, &scenario.remarks})
    for (const std::string& remark : *remarks) run.out.line("note  " + remark);
  run.out.line(run.out.styled("no problems", Style::Good));
  return 0;
}

}  // namespace tandem
