// The table of commands and their options: parsing, help, man page and completions all come from it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct OptionSpec {
  std::vector<std::string> names;  // "--output", "-o"; the first is its name in Arguments
  std::string value = {};          // "FILE"; "": a switch
  std::string help = {};
  std::vector<std::string> choices = {};
  bool repeated = false;
};

enum class CommandId : unsigned char {
  Predict,
  Run,
  Calibrate,
  Show,
  Compare,
  Export,
  Collective,
  Check,
  Validate,
  Models,
  Clusters,
  Schedules,
  Completion,
  Manual,
  Help
};

struct CommandSpec {
  CommandId id;
  std::string name, summary;
  std::vector<std::string> synopsis;  // after "tandem NAME"
  std::string details;                // a paragraph
  std::vector<OptionSpec> options;
  bool takes_scenario = false;  // all flags of the key table and Megatron-LM's
  std::size_t most_operands = 0;
  std::string operand = {};  // what an operand is, for completions: "scenario", "record", "word"
  std::vector<std::string> examples = {};
};

const std::vector<CommandSpec>& commands();
const CommandSpec* find_command(std::string_view name);
// Accepted by every command.
const std::vector<OptionSpec>& common_options();
// Of a scenario: --model, --cluster, --set, --megatron-args.
const std::vector<OptionSpec>& scenario_options();

}  // namespace tandem
