// Reads the sections whose keys stand in the key table.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/scenario/sections.h"

namespace tandem {
namespace {

std::vector<std::string> names_in(Section section) {
  std::vector<std::string> names;
  for (const Key& key : scenario_keys()) {
    if (key.section != section && !(section == Section::Training && key.also_training)) continue;
    names.push_back(key.name);
    if (!key.alias.empty()) names.push_back(key.alias);
  }
  return names;
}

const Key* key_in(Section section, std::string_view spelled) {
  for (const Key& key : scenario_keys()) {
    if (key.section != section && !(section == Section::Training && key.also_training)) continue;
    if (key.name == spelled || (!key.alias.empty() && key.alias == spelled)) return &key;
  }
  return nullptr;
}

std::string hint_for(Section section, std::string_view spelled) {
  if (spelled.size() > 200) return "";
  if (const Key* elsewhere = find_key(spelled);
      elsewhere != nullptr && key_in(section, elsewhere->name) == nullptr)
    return fmt::format("it belongs in [{}]", name(elsewhere->section));
  const std::string near = nearest_name(spelled, names_in(section));
  if (!near.empty()) return fmt::format("did you mean {}?", near);
  const std::string anywhere = nearest_name(spelled, key_names());
  return anywhere.empty()
             ? ""
             : fmt::format("did you mean {} of [{}]?", anywhere, name(find_key(anywhere)->section));
}

struct Entry {
  Where where;
  std::string spelled;
  const toml::node* node;
};

// Tables are sorted by key; people read from top to bottom.
std::vector<Entry> in_file_order(const toml::table& table, const std::string& title,
                                 const ReadContext& context) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) {
    const std::string spelled(key.str());
    entries.push_back({context.where(title + "." + spelled, key), spelled, &node});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
  return entries;
}

}  // namespace

void read_keys(const toml::table& root, Scenario& scenario, ReadContext& context) {
  std::map<const Key*, std::pair<std::string, Where>> taken;  // key -> spelling and place
  for (const Section section : {Section::Plan, Section::Training, Section::Simulation, Section::Cost}) {
    const std::string title(name(section));
    const toml::table* table = section_table(root, title, context);
    if (table == nullptr) continue;
    for (const auto& [where, spelled, node] : in_file_order(*table, title, context)) {
      const Key* key = key_in(section, spelled);
      if (key == nullptr) {
        context.problems.add(where, fmt::format("unknown key {} in [{}]", shown_key(spelled), title),
                             hint_for(section, spelled));
        continue;
      }
      const auto [earlier, fresh] = taken.emplace(key, std::make_pair(spelled, where));
      if (!fresh) {
        context.problems.add(where,
                             fmt::format("{} and {} ({}) are the same key", spelled, earlier->second.first,
                                         text(earlier->second.second)),
                             "keep one of them");
        continue;
      }
      const KeyValue value = value_of(*node);
      if (const std::string wanted = key->set(scenario, value); !wanted.empty())
        context.problems.add(where, fmt::format("{} = {}: {}", spelled, text(value), wanted));
      if (section == Section::Plan || key->also_training) scenario.plan.where[key->name] = where;
    }
  }
}

}  // namespace tandem
