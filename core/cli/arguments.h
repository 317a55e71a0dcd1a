// A command line, understood: options, operands, keys of the scenario, Megatron-LM's flags.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cli/command_table.h"
#include "core/scenario/megatron_flags.h"
#include "core/scenario/scenario.h"

namespace tandem {

struct Arguments {
  const CommandSpec* command = nullptr;
  std::vector<std::string> operands;
  std::map<std::string, std::vector<std::string>> options;  // by the first name
  std::vector<Override> overrides;                          // --set, flags of keys, in order
  MegatronArguments megatron;
  bool has_model = false, has_cluster = false;  // --model, --cluster

  bool has(const std::string& name) const { return options.contains(name); }
  // The last value given; "" when there is none.
  std::string value(const std::string& name) const;
  // A whole number; a problem thrown when it is something else.
  std::optional<std::int64_t> number(const std::string& name, std::int64_t low, std::int64_t high) const;
};

// Understands the words after the command's name. All problems at once, as InputError.
Arguments parse_arguments(const CommandSpec& command, const std::vector<std::string>& words);

// All flags that the command knows, with their dashes: for hints and completions.
std::vector<std::string> flag_names(const CommandSpec& command);

}  // namespace tandem
