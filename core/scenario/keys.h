// The one table of scenario keys: TOML keys, --set, long flags, help texts, man page and completions all come
// from it.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/value.h"

namespace tandem {

enum class Section : std::uint8_t { Plan, Training, Simulation, Cost };
std::string_view name(Section);  // "plan", as in [plan]

enum class KeyKind : std::uint8_t { Integer, Real, Switch, Choice, Text, Quantity, IntegerList, ChoiceList };

struct Key {
  Section section = Section::Plan;
  std::string name = {};   // "tensor_model_parallel_size"; the flag has dashes for underscores
  std::string alias = {};  // "tp", or ""
  KeyKind kind = KeyKind::Integer;
  std::vector<std::string> choices = {};  // Choice, ChoiceList
  std::string unit = {};                  // what a number means: "tokens", "devices", …; Quantity: an example
  std::string help = {};                  // one line
  bool also_training = false;             // may stand in [training] too
  // Puts the value into the scenario; returns what is wanted instead when it does not fit, "" when it was
  // taken.
  std::function<std::string(Scenario&, const KeyValue&)> set = {};
  // Canonical TOML literal of the scenario's value; "": not given, left out.
  std::function<std::string(const Scenario&)> get = {};
};

const std::vector<Key>& scenario_keys();
// By name or alias, dashes or underscores; null when there is none.
const Key* find_key(std::string_view spelled);
// All names and aliases, for hints.
std::vector<std::string> key_names();
std::string flag_of(const Key&);        // "--tensor-model-parallel-size"
std::string alias_flag_of(const Key&);  // "--tp", or ""

// "8" -> 8, "2,2,4" -> a list, "full" -> text: what a flag's text means for this key. Never fails: text that
// does not fit stays text, and `set` refuses it.
KeyValue value_from_text(const Key&, const std::string& typed);

}  // namespace tandem
