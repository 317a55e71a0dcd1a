// A config.json as keys with places: typed look-ups that collect problems, and the keys that nobody asked for.
#pragma once
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem/problem.h"

namespace tandem {

// The names of one setting, the canonical one first.
using Aliases = std::initializer_list<std::string_view>;

// What an absent or null key means; neither given: the key is required.
struct SizeRule {
  std::optional<std::int64_t> absent = {};
  std::optional<std::int64_t> null = {};  // defaults to `absent`
  std::int64_t least = 1;
};

class ConfigFile {
 public:
  // Throws InputError when the text is not one JSON object, with the line of the fault.
  ConfigFile(const std::string& json_text, std::string path);

  // Reads inside the object `key` from now on ("text_config"), which inherits number format and tied embeddings
  // from the outer object where it does not say them itself. False: there is no such object.
  bool enter(std::string_view key);

  // Each of these marks its names as used. A value of the wrong type or out of range is a problem; the result
  // is then the default or 1, so that reading goes on and all problems are found.
  std::int64_t size(Aliases keys, SizeRule rule = {});
  bool flag(Aliases keys, bool absent);
  double fraction(Aliases keys, double absent);  // in [0, 1]
  std::optional<std::string> word(Aliases keys);
  std::vector<std::int64_t> sizes(Aliases keys);  // a list of whole numbers, empty when absent or null
  std::vector<std::string> words(Aliases keys);   // a list of texts, empty when absent or null
  const nlohmann::json* find(Aliases keys);       // null pointer: absent; two names that disagree: a problem
  bool has(std::string_view key) const;           // present and not null, without marking it used

  // Keys of the object being read, then of the outer object, that no look-up named.
  std::vector<std::string> unused() const;
  // Marks keys as meant for someone else.
  void ignore(const std::vector<std::string>& keys);

  Where where(std::string_view key) const;
  void fault(std::string_view key, std::string what, std::string hint = {});
  // A key that is misspelled must not also be reported as missing.
  void forgive(std::string_view key) { forgiven_.insert(std::string(key)); }
  Problems& problems() { return problems_; }
  const std::string& path() const { return path_; }

 private:
  Where object_place() const;
  void scan_places(const std::string& text);
  void wrong_type(std::string_view key, const nlohmann::json& value, std::string_view wanted);
  std::optional<std::int64_t> whole(std::string_view key, const nlohmann::json& value, std::int64_t least);
  std::string_view used_name(Aliases keys) const;

  std::string path_;
  nlohmann::json object_;                             // the one being read
  std::vector<std::string> outer_unused_;             // keys beside the object that was entered
  std::string prefix_;                                // "text_config/" once entered
  std::map<std::string, Where, std::less<>> places_;  // "hidden_size", "text_config/hidden_size"
  std::set<std::string, std::less<>> used_, forgiven_;
  Problems problems_;
};

}  // namespace tandem
