// Reads one TOML table field by field: every problem with file and line, every unknown key refused.
#include "core/cost/row_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units/text.h"

namespace tandem {

Where RowReader::where(std::string_view key) const {
  const toml::node* node = key.empty() ? nullptr : table_.get(key);
  const toml::source_position at = (node ? node->source() : table_.source()).begin;
  return {.file = file_, .line = static_cast<int>(at.line), .column = static_cast<int>(at.column)};
}

void RowReader::complain(std::string_view key, std::string what, std::string hint) {
  problems_.add(where(key), fmt::format("[{}] {} {}", kind_, key, what), std::move(hint));
}

const toml::node* RowReader::find(std::string_view key) {
  known_.emplace_back(key);
  return table_.get(key);
}

void RowReader::read(std::string_view key, std::string& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto text = node->value_exact<std::string>())
    out = *text;
  else
    complain(key, "is not a text", "put it in quotation marks");
}

std::string RowReader::require(std::string_view key) {
  std::string out;
  read(key, out);
  if (out.empty() && !has(key))
    complain(key, "is missing");
  else if (out.empty())
    complain(key, "is empty");
  return out;
}

void RowReader::read(std::string_view key, double& out, double low, double high) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto number = node->is_number() ? node->value<double>() : std::nullopt;
  if (!number || !std::isfinite(*number) || *number < low || *number > high)
    complain(key, "is out of range", fmt::format("a number from {} to {}", low, high));
  else
    out = *number;
}

void RowReader::read(std::string_view key, int& out, int low, int high) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto number = node->value_exact<std::int64_t>();
  if (!number || *number < low || *number > high)
    complain(key, "is out of range", fmt::format("a whole number from {} to {}", low, high));
  else
    out = static_cast<int>(*number);
}

void RowReader::read(std::string_view key, bool& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto flag = node->value_exact<bool>())
    out = *flag;
  else
    complain(key, "is neither true nor false");
}

namespace {
template <class T>
bool assign(const std::optional<T>& parsed, T& out) {
  if (parsed) out = *parsed;
  return parsed.has_value();
}
}  // namespace

void RowReader::read(std::string_view key, Seconds& out) {
  std::string typed;
  read(key, typed);
  if (!typed.empty() && !assign(parse_seconds(typed), out))
    complain(key, fmt::format("= \"{}\" is no time", typed), "such as \"4.0 us\"");
}
void RowReader::read(std::string_view key, Bandwidth& out) {
  std::string typed;
  read(key, typed);
  if (!typed.empty() && !assign(parse_bandwidth(typed), out))
    complain(key, fmt::format("= \"{}\" is no bandwidth", typed), "such as \"48 GB/s\"");
}
void RowReader::read(std::string_view key, Bytes& out) {
  std::string typed;
  read(key, typed);
  if (!typed.empty() && !assign(parse_bytes(typed), out))
    complain(key, fmt::format("= \"{}\" is no size", typed), "such as \"0.5 GiB\"");
}

void RowReader::read(std::string_view key, std::vector<std::string>& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  std::vector<std::string> read;
  if (list != nullptr)
    for (const toml::node& item : *list)
      if (const auto text = item.value_exact<std::string>()) read.push_back(*text);
  if (list == nullptr || read.size() != list->size())
    complain(key, "is not a list of texts");
  else
    out = std::move(read);
}

void RowReader::read(std::string_view key, std::vector<std::pair<double, double>>& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  std::vector<std::pair<double, double>> read;
  if (list != nullptr)
    for (const toml::node& item : *list) {
      const toml::array* pair = item.as_array();
      if (pair == nullptr || pair->size() != 2) continue;
      const auto size = pair->get(0)->value<double>(), share = pair->get(1)->value<double>();
      const bool rising = read.empty() || (size && *size > read.back().first);
      if (size && share && rising && *size >= 1 && std::isfinite(*size) && *share > 0 && *share <= 1)
        read.emplace_back(*size, *share);
    }
  if (list == nullptr || read.empty() || read.size() != list->size())
    complain(key, "is not a list of [group size, share]",
             "sizes rising, shares above 0 and at most 1: [[2, 0.8], [8, 0.81]]");
  else
    out = std::move(read);
}

void RowReader::read(std::string_view key, std::vector<std::pair<std::string, std::string>>& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  std::vector<std::pair<std::string, std::string>> read;
  if (list != nullptr)
    for (const toml::node& item : *list) {
      const toml::array* pair = item.as_array();
      if (pair == nullptr || pair->size() != 2) continue;
      const auto first = pair->get(0)->value_exact<std::string>();
      const auto second = pair->get(1)->value_exact<std::string>();
      if (first && second) read.emplace_back(*first, *second);
    }
  if (list == nullptr || read.size() != list->size())
    complain(key, "is not a list of pairs of texts");
  else
    out = std::move(read);
}

void RowReader::read(std::string_view key, std::map<std::string, double>& out, double low, double high) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::table* table = node->as_table();
  if (table == nullptr) return complain(key, "is not a table of numbers");
  for (const auto& [name, item] : *table) {
    const auto number = item.is_number() ? item.value<double>() : std::nullopt;
    if (!number || !std::isfinite(*number) || *number < low || *number > high)
      complain(key, fmt::format("{} is out of range", std::string_view(name)),
               fmt::format("a number from {} to {}", low, high));
    else
      out[std::string(std::string_view(name))] = *number;
  }
}

void RowReader::finish() {
  for (const auto& [key, node] : table_) {
    const std::string typed(std::string_view(key.str()));
    if (std::find(known_.begin(), known_.end(), typed) != known_.end()) continue;
    const std::string nearest = nearest_name(typed, known_);
    complain(typed, "is not a key", nearest.empty() ? "" : "did you mean " + nearest + "?");
  }
}

}  // namespace tandem
