// Headers and their scenarios, key by key.
#include "core/compare/sameness.h"

#include <map>

namespace tandem {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

// Keys of a scenario as to_toml writes it: a key a line, sections in brackets. Equal sections (arrays of
// tables) are numbered. Reading it needs no parser of TOML.
std::vector<std::pair<std::string, std::string>> settings(std::string_view scenario) {
  std::vector<std::pair<std::string, std::string>> result;
  std::map<std::string, int> sections;
  std::string section;
  while (!scenario.empty()) {
    const std::size_t end = std::min(scenario.find('\n'), scenario.size());
    const std::string_view line = trimmed(scenario.substr(0, end));
    scenario.remove_prefix(std::min(end + 1, scenario.size()));
    if (line.starts_with('[')) {
      section = line.substr(line.find_first_not_of('['), line.find(']') - line.find_first_not_of('['));
      if (const int times = ++sections[section]; times > 1) section += " " + std::to_string(times);
    } else if (const std::size_t equals = line.find('='); equals != std::string_view::npos) {
      const std::string key(trimmed(line.substr(0, equals)));
      result.emplace_back(section.empty() ? key : section + "." + key, trimmed(line.substr(equals + 1)));
    }
  }
  return result;
}

std::vector<Setting> differences(std::string_view a, std::string_view b) {
  const auto keys_a = settings(a), keys_b = settings(b);
  const std::map<std::string, std::string> in_a(keys_a.begin(), keys_a.end()),
      in_b(keys_b.begin(), keys_b.end());
  std::vector<Setting> result;
  for (const auto& [key, value] : in_a) {
    const auto other = in_b.find(key);
    if (other == in_b.end() || other->second != value)
      result.push_back({key, value, other == in_b.end() ? "" : other->second});
  }
  for (const auto& [key, value] : in_b)
    if (!in_a.contains(key)) result.push_back({key, "", value});
  return result;
}

}  // namespace

Sameness sameness(const RecordHeader& a, const RecordHeader& b) {
  return {.scenario =
              !a.scenario_digest.empty() && a.scenario_digest == b.scenario_digest && a.scenario == b.scenario,
          .model = a.model == b.model,
          .cluster = a.cluster == b.cluster,
          .plan = a.plan == b.plan,
          .settings = differences(a.scenario, b.scenario)};
}

}  // namespace tandem
