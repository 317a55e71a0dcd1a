// Look-up in the key table and the reading of a flag's text.
#include "core/scenario/keys.h"

#include <fmt/format.h>

#include <charconv>

#include "core/scenario/key_builders.h"

namespace tandem {

std::vector<Key> plan_keys();  // core/scenario/plan_keys.cpp
std::vector<Key> run_keys();   // core/scenario/run_keys.cpp

namespace key_builders {

std::string wanted_integer(Range range) {
  return fmt::format("a whole number from {} to {} is wanted", range.low, range.high);
}

std::string wanted_choice(const std::vector<std::string>& choices) {
  std::string all;
  for (std::size_t i = 0; i < choices.size(); ++i)
    all += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ", choices[i]);
  return all + " is wanted";
}

std::optional<std::int64_t> integer_in(const KeyValue& value, Range range) {
  const auto* number = std::get_if<std::int64_t>(&value.is);
  if (number == nullptr || *number < range.low || *number > range.high) return std::nullopt;
  return *number;
}

}  // namespace key_builders

namespace {

template <class Number>
std::optional<Number> whole_number(std::string_view typed) {
  Number number{};
  if (typed.starts_with('+')) typed.remove_prefix(1);
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
  if (error != std::errc() || end != typed.data() + typed.size()) return std::nullopt;
  return number;
}

KeyValue scalar_from_text(KeyKind kind, const std::string& typed) {
  if (kind == KeyKind::Switch) {
    if (typed == "true" || typed == "True" || typed == "1" || typed == "on" || typed == "yes") return {true};
    if (typed == "false" || typed == "False" || typed == "0" || typed == "off" || typed == "no") return {false};
    return {typed};
  }
  if (kind == KeyKind::Integer || kind == KeyKind::IntegerList || kind == KeyKind::Real) {
    if (const auto number = whole_number<std::int64_t>(typed)) return {*number};
    if (kind == KeyKind::Real)
      if (const auto number = whole_number<double>(typed)) return {*number};
    return {typed};
  }
  const bool in_quotes = typed.size() >= 2 && typed.front() == '"' && typed.back() == '"';
  return {in_quotes ? typed.substr(1, typed.size() - 2) : typed};
}

std::string dashed(const std::string& name) {
  std::string flag = "--" + name;
  for (char& c : flag)
    if (c == '_') c = '-';
  return flag;
}

std::string trimmed(const std::string& raw) {
  const std::size_t first = raw.find_first_not_of(" \t");
  return first == std::string::npos ? "" : raw.substr(first, raw.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string_view name(Section section) {
  switch (section) {
    case Section::Plan:
      return "plan";
    case Section::Training:
      return "training";
    case Section::Simulation:
      return "simulation";
    case Section::Cost:
      return "cost";
  }
  return "?";
}

const std::vector<Key>& scenario_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all = plan_keys();
    for (Key& key : run_keys()) all.push_back(std::move(key));
    return all;
  }();
  return keys;
}

const Key* find_key(std::string_view spelled) {
  std::string wanted(spelled);
  for (char& c : wanted)
    if (c == '-') c = '_';
  for (const Key& key : scenario_keys())
    if (key.name == wanted || (!key.alias.empty() && key.alias == wanted)) return &key;
  return nullptr;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const Key& key : scenario_keys()) {
    names.push_back(key.name);
    if (!key.alias.empty()) names.push_back(key.alias);
  }
  return names;
}

std::string flag_of(const Key& key) { return dashed(key.name); }
std::string alias_flag_of(const Key& key) { return key.alias.empty() ? "" : dashed(key.alias); }

KeyValue value_from_text(const Key& key, const std::string& typed) {
  const std::string clean = trimmed(typed);
  if (key.kind != KeyKind::IntegerList && key.kind != KeyKind::ChoiceList)
    return scalar_from_text(key.kind, clean);
  std::string inner = clean;
  if (inner.size() >= 2 && inner.front() == '[' && inner.back() == ']')
    inner = inner.substr(1, inner.size() - 2);
  KeyValue::List list;
  for (std::size_t at = 0; at < inner.size();) {
    const std::size_t comma = std::min(inner.find(',', at), inner.size());
    list.push_back(scalar_from_text(key.kind, trimmed(inner.substr(at, comma - at))));
    at = comma + 1;
  }
  return {list};
}

}  // namespace tandem
