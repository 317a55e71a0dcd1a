// What `tandem` can do.
#include "core/cli/command_table.h"

namespace tandem {

const std::vector<OptionSpec>& common_options() {
  static const std::vector<OptionSpec> options = {
      {{"--help", "-h"}, "", "explain the command and leave"},
      {{"--scenarios"}, "DIR", "folder of models, clusters and calibrations (also TANDEM_SCENARIOS)"},
      {{"--color"},
       "WHEN",
       "colours: auto (default), always or never; NO_COLOR is respected",
       {"auto", "always", "never"}},
  };
  return options;
}

const std::vector<OptionSpec>& scenario_options() {
  static const std::vector<OptionSpec> options = {
      {{"--model"}, "MODEL", "a shipped model's id, a config.json or its folder"},
      {{"--cluster"}, "CLUSTER", "a preset and its nodes, as dgx-h100:16, or a device and its number"},
      {{"--nodes"}, "N", "nodes of the cluster"},
      {{"--set"}, "KEY=VALUE", "sets any key of the scenario, as cluster.fabric.oversubscription=2", {}, true},
      {{"--megatron-args"}, "FILE", "reads Megatron-LM's flags from a launch script (- is standard input)"},
  };
  return options;
}

const std::vector<CommandSpec>& commands() {
  static const std::vector<CommandSpec> table = {
      {CommandId::Predict,
       "predict",
       "predict a training step: its time, memory and timeline",
       {"[SCENARIO.toml] [FLAGS]", "--model MODEL --cluster CLUSTER [FLAGS]"},
       "Lowers the scenario into the tasks of one training step, plays them on the modelled cluster and "
       "reports where the "
       "time and the memory go. A plan that does not fit in memory is predicted all the same, and said not to "
       "fit.",
       {{{"--json"}, "", "print the summary as JSON with stable keys"},
        {{"--output", "-o"}, "FILE", "write the whole prediction as a record (FILE.tandem)"},
        {{"--quiet", "-q"}, "", "no progress and no remarks"}},
       true,
       1,
       "scenario",
       {"tandem predict llama-3.1-8b-2xdgx-h100", "tandem predict scenario.toml --set tp=4 -o run.tandem",
        "tandem predict --model llama-3.1-8b --cluster dgx-h100:2 --tp 2 --mbs 1 --gbs 128 --seq-length 8192"}},
      {CommandId::Show,
       "show",
       "show a record: where its time and memory went",
       {"FILE.tandem [PARTS]"},
       "Without a part, the summary, the breakdown and the memory.",
       {{{"--breakdown"}, "", "every part of the step, a rank a stage"},
        {{"--memory"}, "", "memory by class at the peak of each stage"},
        {{"--critical-path"}, "", "the chain of tasks that made the step as long as it was"},
        {{"--schedule"}, "", "the timeline as text, a row a stage"},
        {{"--costs"}, "", "the tasks that take longest, with what they do and how their time came about"},
        {{"--width"}, "N", "columns of the schedule (default: the terminal's)"},
        {{"--json"}, "", "print the summary as JSON"}},
       false,
       1,
       "record",
       {"tandem show run.tandem --schedule"}},
      {CommandId::Compare,
       "compare",
       "compare two records: prediction and measurement, or two plans",
       {"A.tandem B.tandem [--top N] [--json]"},
       "Says whether both ran the same model, cluster and plan, how far their steps, kinds of task, lanes, "
       "communication and memory lie apart, and what explains the difference. Deviation is (A - B) / B; of a "
       "prediction and a measurement, A is the prediction, whichever is named first.",
       {{{"--top"}, "N", "explanations and kinds of task to show (default 10)"},
        {{"--json"}, "", "print everything but the single tasks as JSON: seconds, bytes, fractions"}},
       false,
       2,
       "record",
       {"tandem compare predicted.tandem measured.tandem", "tandem compare tp2.tandem tp4.tandem --top 20"}},
      {CommandId::Export,
       "export",
       "write a record in another viewer's format",
       {"FILE.tandem --format chrome|perfetto|csv -o OUT"},
       "chrome is Kineto-shaped JSON for Perfetto, chrome://tracing and Holistic Trace Analysis; perfetto is "
       "its native "
       "protobuf; csv has one line a span. OUT may be - for standard output.",
       {{{"--format"}, "FORMAT", "chrome, perfetto or csv", {"chrome", "perfetto", "csv"}},
        {{"--output", "-o"}, "OUT", "file to write"},
        {{"--rank"}, "N", "this rank alone"}},
       false,
       1,
       "record",
       {"tandem export run.tandem --format chrome -o run.json"}},
      {CommandId::Collective,
       "collective",
       "predict a collective over sizes, in nccl-tests' columns",
       {"--op OP --cluster CLUSTER --sizes FROM..TO"},
       "Times of one collective among all devices of the cluster, or the first --ranks of them. Sizes double "
       "from FROM to TO "
       "and may carry units (8, 64K, 1G are binary, as in nccl-tests).",
       {{{"--op"},
         "OP",
         "which collective",
         {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce"}},
        {{"--cluster"}, "CLUSTER", "a preset and its nodes, as dgx-h100:16"},
        {{"--sizes"}, "RANGE", "sizes in bytes, as 8..8G (default 1M..1G)"},
        {{"--algorithm"},
         "NAME",
         "auto (default: as NCCL picks), ring, tree, …",
         {"auto", "ring", "tree", "halving_doubling", "hierarchical", "nvls", "pairwise"}},
        {{"--ranks"}, "N", "the first N devices only"},
        {{"--fidelity"},
         "LEVEL",
         "estimate (alone on its links) or folded (simulated)",
         {"estimate", "folded", "full"}},
        {{"--framework"}, "NAME", "profile of host times (default megatron)"},
        {{"--json"}, "", "print JSON"}},
       false,
       0,
       "",
       {"tandem collective --op all_reduce --cluster dgx-h100:16 --sizes 8..8G"}},
      {CommandId::Check,
       "check",
       "report every problem of a scenario, and predict nothing",
       {"[SCENARIO.toml] [FLAGS]"},
       "Reads the scenario, resolves the plan and builds the cluster. With --resolved, prints what was "
       "understood as a "
       "canonical scenario.",
       {{{"--resolved"}, "", "print the resolved scenario"}},
       true,
       1,
       "scenario",
       {"tandem check scenario.toml"}},
      {CommandId::Validate,
       "validate",
       "hold predictions against a table of measured runs",
       {"TABLE.csv [-o DIR]", "TABLE.csv --kernels|--collectives"},
       "Predicts every row whose columns describe a run and says, a set of rows and in all, how far the "
       "predictions "
       "are from what was measured, which rows were left out and why, whether plans that ran fit in memory, "
       "and what "
       "is lost by taking the plan that is predicted fastest. Columns: core/validate/README.md.",
       {{{"--json"}, "", "print JSON with fractions"},
        {{"--output", "-o"}, "DIR", "write rows.csv, scatter.svg and worst.txt there"},
        {{"--kernels"}, "", "the table is of kernel timings"},
        {{"--collectives"}, "", "the table is of collective timings"},
        {{"--calibration"}, "FILE", "constants laid over the shipped ones"},
        {{"--quiet", "-q"}, "", "no progress"}},
       false,
       1,
       "table",
       {"tandem validate scenarios/published/runs.csv"}},
      {CommandId::Models,
       "models",
       "list the shipped models",
       {"[WORD]"},
       "WORD keeps the models whose id has it.",
       {{{"--json"}, "", "print JSON"}},
       false,
       1,
       "word",
       {}},
      {CommandId::Clusters,
       "clusters",
       "list presets, devices and links",
       {"[WORD]"},
       "WORD keeps the entries whose id or name has it.",
       {{{"--json"}, "", "print JSON"}},
       false,
       1,
       "word",
       {}},
      {CommandId::Schedules,
       "schedules",
       "list the pipeline schedules, drawn",
       {"[--pp N] [--microbatches N]"},
       "Each schedule with its idle share and its activations in flight, for this many stages and "
       "microbatches.",
       {{{"--pp"}, "N", "stages (default 4)"},
        {{"--microbatches"}, "N", "microbatches (default 8)"},
        {{"--width"}, "N", "columns (default: the terminal's)"}},
       false,
       1,
       "word",
       {}},
      {CommandId::Completion,
       "completion",
       "print a completion script",
       {"bash|zsh|fish"},
       "For example: source <(tandem completion bash)",
       {},
       false,
       1,
       "shell",
       {}},
      {CommandId::Manual,
       "man",
       "print the manual page (roff)",
       {""},
       "For example: tandem man | man -l -",
       {},
       false,
       0,
       "",
       {}},
      {CommandId::Help, "help", "explain a command", {"[COMMAND]"}, "", {}, false, 1, "command", {}},
  };
  return table;
}

const CommandSpec* find_command(std::string_view name) {
  for (const CommandSpec& command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace tandem
