// Typed look-ups in a config.json, with the line of every key from a scan of the text.
#include "core/model/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem {
namespace {

using nlohmann::json;

// Sizes above are refused where they are read; see check_spec for sizes together.
constexpr std::int64_t largest_size = std::int64_t{1} << 40;
// Values are copied and compared recursively.
constexpr int deepest_nesting = 100;

// Text of a file for a message: printable ASCII, and not much of it.
std::string shown(std::string_view text, std::size_t limit = 60) {
  std::string result;
  for (const char c : text.substr(0, limit)) result += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > limit ? result + "..." : result;
}
std::string shown_value(const json& value) {
  if (value.is_structured()) return value.is_array() ? "[...]" : "{...}";
  return shown(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

Where place(const std::string& path, std::string_view text, std::size_t offset) {
  Where where{path, 1, 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++where.line;
      where.column = 1;
    } else {
      ++where.column;
    }
  }
  return where;
}

json parsed(const std::string& text, const std::string& path) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    refuse({path, 0, 0}, "the file is empty", "a Hugging Face config.json is expected");
  }
  // The JSON library would take a zero byte for the end of the text.
  if (const std::size_t zero = text.find('\0'); zero != std::string::npos) {
    refuse(place(path, text, zero), "holds a zero byte: this is a binary file", "");
  }
  const auto shallow = [&](int depth, json::parse_event_t, json&) {
    if (depth > deepest_nesting) {
      refuse({path, 0, 0}, fmt::format("is nested more than {} deep", deepest_nesting), "");
    }
    return true;
  };
  try {
    return json::parse(text, shallow);
  } catch (const json::exception& error) {
    const auto* fault = dynamic_cast<const json::parse_error*>(&error);
    const bool placed = fault && fault->byte > 0;
    const std::size_t offset = placed ? fault->byte - 1 : 0;
    std::string_view what = error.what();
    for (const std::string_view start : {"syntax error", "number overflow"}) {
      if (const std::size_t at = what.find(start); at != what.npos) what.remove_prefix(at);
    }
    const bool ended = offset >= text.size();
    refuse(placed ? place(path, text, std::min(offset, text.size())) : Where{path, 0, 0},
           fmt::format("is not valid JSON: {}", shown(what, 160)),
           ended ? "the file ends too early: was it copied whole?" : "");
  }
}

}  // namespace

ConfigFile::ConfigFile(const std::string& json_text, std::string path) : path_(std::move(path)) {
  object_ = parsed(json_text, path_);
  if (!object_.is_object()) {
    refuse({path_, 1, 1}, fmt::format("holds no object {{...}} but a JSON {}", object_.type_name()),
           "a Hugging Face config.json is expected");
  }
  scan_places(json_text);
}

// Walks the text, known to be valid JSON, and notes where the keys of the two outermost levels stand.
void ConfigFile::scan_places(const std::string& text) {
  std::vector<bool> object_at;  // whether each open bracket is an object
  std::string parent;           // key of the outermost object that is open
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      line_start = i + 1;
    } else if (c == '{' || c == '[') {
      object_at.push_back(c == '{');
    } else if (c == '}' || c == ']') {
      object_at.pop_back();
    } else if (c == '"') {
      const std::size_t start = i;
      for (++i; text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
      const std::size_t after = text.find_first_not_of(" \t\r\n", i + 1);
      const std::size_t depth = object_at.size();
      if (after == text.npos || text[after] != ':' || depth > 2 || !object_at[0] || !object_at.back()) continue;
      const std::string key = json::parse(text.substr(start, i - start + 1)).get<std::string>();
      if (depth == 1) parent = key;
      const std::string full = depth == 1 ? key : parent + "/" + key;
      const Where where{path_, line, static_cast<int>(start - line_start) + 1};
      if (!places_.emplace(full, where).second) {
        problems_.add(where, fmt::format("the key \"{}\" appears twice", shown(key)), "keep one of them");
      }
    }
  }
}

bool ConfigFile::enter(std::string_view key) {
  const auto found = object_.find(std::string(key));
  if (found == object_.end() || found->is_null()) return false;
  if (!found->is_object()) {
    wrong_type(key, *found, "an object");
    used_.insert(std::string(key));
    return false;
  }
  json inner = std::move(*found);
  for (const char* inherited : {"torch_dtype", "dtype", "tie_word_embeddings"}) {
    if (const auto value = object_.find(inherited); value != object_.end() && !inner.contains(inherited)) {
      inner[inherited] = *value;
    }
  }
  for (const auto& [name, value] : object_.items()) {
    if (name != key && !inner.contains(name)) outer_unused_.push_back(name);
  }
  prefix_ = std::string(key) + "/";
  object_ = std::move(inner);
  return true;
}

Where ConfigFile::where(std::string_view key) const {
  for (const std::string& prefix : {prefix_, std::string()}) {
    const auto found = places_.find(prefix + std::string(key));
    if (found != places_.end()) return found->second;
  }
  return object_place();
}

// Where the object being read begins: nowhere in particular, or at the key that was entered.
Where ConfigFile::object_place() const {
  if (prefix_.empty()) return {path_, 0, 0};
  return places_.find(std::string_view(prefix_).substr(0, prefix_.size() - 1))->second;
}

void ConfigFile::fault(std::string_view key, std::string what, std::string hint) {
  problems_.add(where(key), std::move(what), std::move(hint));
}

void ConfigFile::wrong_type(std::string_view key, const json& value, std::string_view wanted) {
  fault(key, fmt::format("{} = {} is not {}", key, shown_value(value), wanted));
}

bool ConfigFile::has(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found != object_.end() && !found->is_null();
}

const json* ConfigFile::find(Aliases keys) {
  const json* result = nullptr;
  std::string_view name;
  for (const std::string_view key : keys) {
    used_.insert(std::string(key));
    const auto found = object_.find(std::string(key));
    if (found == object_.end()) continue;
    if (result && !result->is_null() && !found->is_null() && *found != *result) {
      fault(key,
            fmt::format("{} = {} disagrees with {} = {}", key, shown_value(*found), name, shown_value(*result)),
            "both name the same setting: keep one");
    }
    if (!result || result->is_null()) {
      result = &*found;
      name = key;
    }
  }
  return result;
}

// The name by which the file gives a setting, for messages; the canonical one when it does not.
std::string_view ConfigFile::used_name(Aliases keys) const {
  std::string_view null_name;
  for (const std::string_view key : keys) {
    const auto found = object_.find(std::string(key));
    if (found == object_.end()) continue;
    if (!found->is_null()) return key;
    if (null_name.empty()) null_name = key;
  }
  return null_name.empty() ? *keys.begin() : null_name;
}

std::optional<std::int64_t> ConfigFile::whole(std::string_view key, const json& value, std::int64_t least) {
  if (!value.is_number_integer()) {
    const bool large =
        value.is_number_float() && std::fabs(value.get<double>()) > static_cast<double>(largest_size);
    if (large) {
      fault(key,
            fmt::format("{} = {} is absurd: at most {} makes sense", key, shown_value(value), largest_size));
    } else {
      wrong_type(key, value, "a whole number");
    }
    return std::nullopt;
  }
  // Above the signed range the library keeps an unsigned number.
  const bool huge =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(largest_size);
  if (huge) {
    fault(key, fmt::format("{} = {} is absurd: at most {} makes sense", key, shown_value(value), largest_size));
    return std::nullopt;
  }
  const auto number = value.get<std::int64_t>();
  if (number < least) {
    fault(key, fmt::format("{} = {} is below {}", key, number, least));
    return std::nullopt;
  }
  return number;
}

std::int64_t ConfigFile::size(Aliases keys, SizeRule rule) {
  const json* value = find(keys);
  const std::string_view name = used_name(keys);
  const bool null = value && value->is_null();
  if (value && !null) return whole(name, *value, rule.least).value_or(rule.absent.value_or(1));
  const std::optional<std::int64_t> fallback = null && rule.null ? rule.null : rule.absent;
  if (fallback) return *fallback;
  const bool forgiven =
      std::any_of(keys.begin(), keys.end(), [&](std::string_view k) { return forgiven_.contains(k); });
  if (!forgiven) {
    std::string others;
    for (const std::string_view key : keys) {
      if (key != *keys.begin()) others += fmt::format("{}{}", others.empty() ? "" : ", ", key);
    }
    problems_.add(null ? where(name) : object_place(), fmt::format("{} is {}", name, null ? "null" : "missing"),
                  others.empty() ? "" : fmt::format("also read as {}", others));
  }
  return 1;
}

bool ConfigFile::flag(Aliases keys, bool absent) {
  const json* value = find(keys);
  if (!value || value->is_null()) return absent;
  if (value->is_boolean()) return value->get<bool>();
  wrong_type(used_name(keys), *value, "true or false");
  return absent;
}

double ConfigFile::fraction(Aliases keys, double absent) {
  const json* value = find(keys);
  if (!value || value->is_null()) return absent;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (number >= 0 && number <= 1) return number;
  wrong_type(used_name(keys), *value, "a number from 0 to 1");
  return absent;
}

std::optional<std::string> ConfigFile::word(Aliases keys) {
  const json* value = find(keys);
  if (!value || value->is_null()) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  wrong_type(used_name(keys), *value, "a text in quotes");
  return std::nullopt;
}

std::vector<std::int64_t> ConfigFile::sizes(Aliases keys) {
  const json* value = find(keys);
  std::vector<std::int64_t> result;
  if (!value || value->is_null()) return result;
  if (!value->is_array()) {
    wrong_type(used_name(keys), *value, "a list of whole numbers");
    return result;
  }
  for (const json& item : *value) {
    const std::optional<std::int64_t> number = whole(used_name(keys), item, 0);
    if (!number) return {};
    result.push_back(*number);
  }
  return result;
}

std::vector<std::string> ConfigFile::words(Aliases keys) {
  const json* value = find(keys);
  std::vector<std::string> result;
  if (!value || value->is_null()) return result;
  if (!value->is_array() ||
      !std::all_of(value->begin(), value->end(), [](const json& v) { return v.is_string(); })) {
    wrong_type(used_name(keys), *value, "a list of texts");
    return result;
  }
  for (const json& item : *value) result.push_back(item.get<std::string>());
  return result;
}

std::vector<std::string> ConfigFile::unused() const {
  std::vector<std::string> result;
  for (const auto& [key, value] : object_.items()) {
    if (!used_.contains(key)) result.push_back(key);
  }
  for (const std::string& key : outer_unused_) {
    if (!used_.contains(key)) result.push_back(key);
  }
  return result;
}

void ConfigFile::ignore(const std::vector<std::string>& keys) { used_.insert(keys.begin(), keys.end()); }

}  // namespace tandem
