// Typed access to TOML tables with complete reports of what is wrong in them.
#include "core/cluster/table_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/units/text.h"

namespace tandem {
namespace {

std::string shown(const toml::node& node) {
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  std::string text = out.str();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace

Where where_of(const toml::node& node, const std::string& file) {
  const toml::source_position begin = node.source().begin;
  return {.file = file, .line = static_cast<int>(begin.line), .column = static_cast<int>(begin.column)};
}

toml::table parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const toml::source_position begin = error.source().begin;
    throw InputError(
        Problem{{.file = file, .line = static_cast<int>(begin.line), .column = static_cast<int>(begin.column)},
                fmt::format("not valid TOML: {}", error.description()),
                {}});
  }
}

TableReader::TableReader(const toml::table& table, std::string file, std::string owner, Problems& problems)
    : table_(table), file_(std::move(file)), owner_(std::move(owner)), problems_(problems) {}

Where TableReader::where() const { return where_of(table_, file_); }
Where TableReader::where(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return node == nullptr ? where() : where_of(*node, file_);
}

void TableReader::complain(std::string_view key, std::string what, std::string hint) {
  problems_.add(where(key), fmt::format("{}: {}", owner_, what), std::move(hint));
}

const toml::node* TableReader::find(std::string_view key) {
  asked_.emplace_back(key);
  return table_.get(key);
}

void TableReader::read(std::string_view key, std::string& into) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  if (const auto* text = node->as_string()) {
    into = text->get();
  } else {
    complain(key, fmt::format("{} = {} is not text", key, shown(*node)), "put it in quotes");
  }
}

void TableReader::read(std::string_view key, int& into, int low, int high) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto* number = node->as_integer();
  if (number == nullptr) return complain(key, fmt::format("{} = {} is not a whole number", key, shown(*node)));
  if (number->get() < low || number->get() > high) {
    return complain(key, fmt::format("{} = {} is not within {} … {}", key, number->get(), low, high));
  }
  into = static_cast<int>(number->get());
}

void TableReader::read(std::string_view key, double& into, double low, double high) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const std::optional<double> number = node->is_number() ? node->value<double>() : std::nullopt;
  if (!number) return complain(key, fmt::format("{} = {} is not a number", key, shown(*node)));
  if (!(*number >= low && *number <= high)) {
    return complain(key, fmt::format("{} = {} is not within {} … {}", key, shown(*node), low, high));
  }
  into = *number;
}

template <class Q, class Parse>
void TableReader::quantity(std::string_view key, Q& into, Parse parse, std::string_view example) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto* text = node->as_string();
  if (text == nullptr) {
    return complain(key, fmt::format("{} = {} has no unit", key, shown(*node)),
                    fmt::format("write it as \"{}\"", example));
  }
  const std::optional<Q> value = parse(text->get());
  if (!value) {
    return complain(key, fmt::format("{} = \"{}\" is not understood", key, text->get()),
                    fmt::format("write it as \"{}\"", example));
  }
  if (!(value->value >= 0)) return complain(key, fmt::format("{} = \"{}\" is negative", key, text->get()));
  into = *value;
}

void TableReader::read(std::string_view key, Bytes& into) { quantity(key, into, parse_bytes, "80 GB"); }
void TableReader::read(std::string_view key, Bandwidth& into) {
  quantity(key, into, parse_bandwidth, "450 GB/s");
}
void TableReader::read(std::string_view key, Seconds& into) { quantity(key, into, parse_seconds, "1.5 us"); }
void TableReader::read(std::string_view key, ComputeRate& into) {
  quantity(key, into, parse_compute_rate, "989 TFLOP/s");
}
void TableReader::read(std::string_view key, Power& into) { quantity(key, into, parse_power, "700 W"); }

void TableReader::read(std::string_view key, std::vector<double>& into, double low, double high,
                       std::size_t most) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  std::vector<double> numbers;
  if (list != nullptr && list->size() <= most) {
    for (const toml::node& entry : *list) {
      const std::optional<double> number = entry.is_number() ? entry.value<double>() : std::nullopt;
      if (number && *number >= low && *number <= high) numbers.push_back(*number);
    }
  }
  if (list == nullptr || numbers.empty() || numbers.size() != list->size()) {
    return complain(key, fmt::format("{} = {} is not a list of 1 to {} numbers within {} … {}", key,
                                     shown(*node), most, low, high));
  }
  into = numbers;
}

void TableReader::read(std::string_view key, std::vector<int>& into, int low, int high, std::size_t most) {
  std::vector<double> numbers;
  read(key, numbers, low, high, most);
  if (numbers.empty()) return;
  if (std::any_of(numbers.begin(), numbers.end(), [](double number) { return number != std::floor(number); })) {
    return complain(key, fmt::format("{} = {} holds a number that is not whole", key, shown(*table_.get(key))));
  }
  into.clear();
  for (double number : numbers) into.push_back(static_cast<int>(number));
}

std::optional<std::size_t> TableReader::choice(std::string_view key, const std::vector<std::string>& words) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto* text = node->as_string();
  if (text != nullptr) {
    const auto found = std::find(words.begin(), words.end(), text->get());
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  }
  const std::string nearest = text == nullptr ? "" : nearest_name(text->get(), words);
  complain(key, fmt::format("{} = {} is not one of {}", key, shown(*node), fmt::join(words, ", ")),
           nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest));
  return std::nullopt;
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) complain(key, fmt::format("{} = {} is not a table", key, shown(*node)));
  return node->as_table();
}

const toml::array* TableReader::tables(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  const toml::array* list = node->as_array();
  if (list == nullptr ||
      !std::all_of(list->begin(), list->end(), [](const toml::node& n) { return n.is_table(); })) {
    complain(key, fmt::format("{} is not a list of tables", key));
    return nullptr;
  }
  return list;
}

void TableReader::refuse_others() {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const std::string nearest = nearest_name(name, asked_);
    const toml::source_position begin = key.source().begin;
    problems_.add(
        {.file = file_, .line = static_cast<int>(begin.line), .column = static_cast<int>(begin.column)},
        fmt::format("{}: unknown key \"{}\"", owner_, name),
        nearest.empty() ? fmt::format("known are {}", fmt::join(asked_, ", "))
                        : fmt::format("did you mean \"{}\"?", nearest));
  }
}

}  // namespace tandem
