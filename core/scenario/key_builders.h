// How keys of each kind are made: the check of type and range, the writing of the canonical literal.
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/scenario/keys.h"

namespace tandem::key_builders {

// One choice of an enumeration as users type it.
template <class Enum>
using Names = std::vector<std::pair<std::string, Enum>>;

struct Range {
  std::int64_t low = 0, high = 0;
};
std::string wanted_integer(Range);
std::string wanted_choice(const std::vector<std::string>& choices);
// The whole number in a value (8, not 8.0 and not "8"), or nothing.
std::optional<std::int64_t> integer_in(const KeyValue&, Range);

struct Names_ {
  std::string name, alias;
};

// `field` maps a Scenario to the member: [](auto& s) -> auto& { return s.plan.seq_length; }.
template <class Field>
Key integer(Names_ names, Field field, Range range, std::string unit, std::string help,
            std::int64_t not_given = -1) {
  Key key{.name = names.name, .alias = names.alias, .kind = KeyKind::Integer, .unit = unit, .help = help};
  key.set = [field, range](Scenario& scenario, const KeyValue& value) -> std::string {
    const auto number = integer_in(value, range);
    if (!number) return wanted_integer(range);
    using Member = std::remove_cvref_t<decltype(field(scenario))>;
    field(scenario) = static_cast<Member>(*number);
    return "";
  };
  key.get = [field, not_given](const Scenario& scenario) -> std::string {
    const auto number = static_cast<std::int64_t>(field(scenario));
    return number == not_given ? "" : std::to_string(number);
  };
  return key;
}

template <class Field>
Key toggle(Names_ names, Field field, std::string help) {
  Key key{.name = names.name, .alias = names.alias, .kind = KeyKind::Switch, .help = help};
  key.set = [field](Scenario& scenario, const KeyValue& value) -> std::string {
    const bool* on = std::get_if<bool>(&value.is);
    if (on == nullptr) return "true or false is wanted";
    field(scenario) = *on;
    return "";
  };
  key.get = [field](const Scenario& scenario) -> std::string { return field(scenario) ? "true" : "false"; };
  return key;
}

template <class Enum, class Field>
Key choice(Names_ names, Names<Enum> values, Field field, std::string help) {
  Key key{.name = names.name, .alias = names.alias, .kind = KeyKind::Choice, .help = help};
  for (const auto& [text, value] : values) key.choices.push_back(text);
  key.set = [field, values, choices = key.choices](Scenario& scenario, const KeyValue& value) -> std::string {
    if (const auto* typed = std::get_if<std::string>(&value.is)) {
      for (const auto& [text, chosen] : values) {
        if (text != *typed) continue;
        field(scenario) = chosen;
        return "";
      }
      if (const std::string near = nearest_name(*typed, choices); !near.empty())
        return wanted_choice(choices) + "; did you mean \"" + near + "\"?";
    }
    return wanted_choice(choices);
  };
  key.get = [field, values](const Scenario& scenario) -> std::string {
    const auto& current = field(scenario);
    for (const auto& [text, value] : values)
      if (current == value) return quoted(text);
    return "";
  };
  return key;
}

// A number with a unit, as text: "5 ms". `parse` is one of core/units/text.h; `base` the unit of the canonical
// form, `most` the largest that makes sense.
template <class Quantity, class Field>
Key quantity(Names_ names, std::optional<Quantity> (*parse)(std::string_view), std::string base,
             std::string example, Quantity most, Field field, std::string help) {
  Key key{.name = names.name, .alias = names.alias, .kind = KeyKind::Quantity, .unit = example, .help = help};
  key.set = [field, parse, base, example, most](Scenario& scenario, const KeyValue& value) -> std::string {
    const std::string wanted = "a number with its unit in quotes is wanted, as in \"" + example +
                               "\", up to \"" + fmt::format("{:g} {}", most.value, base) + "\"";
    const auto* typed = std::get_if<std::string>(&value.is);
    if (typed == nullptr) return wanted;
    const auto amount = parse(*typed);
    if (!amount || *amount > most) return wanted;
    field(scenario) = *amount;
    return "";
  };
  key.get = [field, base](const Scenario& scenario) -> std::string {
    const auto amount = field(scenario);
    return amount.value == 0 ? "" : quoted(exact(amount.value) + " " + base);
  };
  return key;
}

}  // namespace tandem::key_builders
