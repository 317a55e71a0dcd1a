// Megatron-LM's own flags, as they stand in launch scripts, and what each means for a prediction.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/shell_snippet.h"

namespace tandem {

enum class MegatronEffect : std::uint8_t {
  Key,          // sets a key of the scenario
  Model,        // describes the model's shape
  Nodes,        // torchrun's: how many machines, how many processes on each
  NotModelled,  // bears on time or memory, and no prediction knows it: said as a warning
  None,         // learning rates, paths, logging: nothing that a prediction could show
};

struct MegatronFlag {
  std::string name;  // "--use-distributed-optimizer"
  MegatronEffect effect = MegatronEffect::None;
  int values = 0;        // words that follow it; -1: all up to the next flag
  std::string key = {};  // Key: of the key table
  // Key: typed value -> value of the key ("" stands for no value, "*" for any other value, as typed when
  // empty).
  std::vector<std::pair<std::string, std::string>> meaning = {};
};

// Those that are not simply keys of the key table (which have flags of their own).
const std::vector<MegatronFlag>& megatron_flags();
const MegatronFlag* find_megatron_flag(std::string_view name);

// What the flags said, apart from keys of the scenario.
struct MegatronArguments {
  std::vector<Override> overrides;
  std::map<std::string, Word> model;  // "--num-layers" -> "32"; a switch has an empty text
  std::map<std::string, Word> nodes;  // "--nnodes" -> "4"
  std::vector<std::string> without_effect, not_modelled;
};

// Takes one flag with its values into `arguments`; a value that means nothing is a problem.
void take_megatron_flag(const MegatronFlag& flag, const Where& where, const std::vector<std::string>& values,
                        MegatronArguments& arguments, Problems& problems);

// A config.json from the shape that the flags describe: Megatron's defaults where they say nothing. Mixtures
// that no model type has are problems. Null when there are any.
std::optional<std::string> config_from_flags(const std::map<std::string, Word>& model, Problems& problems);

// With a model given, its shape must be the one that the flags describe.
void compare_with_flags(const std::map<std::string, Word>& model, const ModelSpec& spec, Problems& problems);

}  // namespace tandem
