// --set and flags: their values go into the parsed file in place of its own, so that one reader checks both.
#include <fmt/format.h>

#include "core/scenario/sections.h"

namespace tandem {
namespace {

// Names that are no key of the table and yet worth a short form.
const std::map<std::string, std::string, std::less<>> short_paths = {{"model", "model.config"},
                                                                     {"cluster", "cluster.preset"},
                                                                     {"nodes", "cluster.nodes"},
                                                                     {"config", "model.config"},
                                                                     {"preset", "cluster.preset"}};
const std::vector<std::string> sections = {"model", "cluster", "plan", "training", "simulation", "cost"};

struct Target {
  const Key* key = nullptr;  // null: a path into [model] or [cluster]
  std::vector<std::string> path;
};

std::vector<std::string> split(const std::string& dotted) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= dotted.size();) {
    const std::size_t dot = std::min(dotted.find('.', at), dotted.size());
    parts.push_back(dotted.substr(at, dot - at));
    at = dot + 1;
  }
  return parts;
}

Target of_key(const Key* key) { return {key, {std::string(name(key->section)), key->name}}; }

// Device and link ids hold dots and dashes ("nvlink4"), dashes only in fact; keys of HF files hold neither.
std::optional<Target> target_of(const Override& change, ReadContext& context) {
  std::vector<std::string> parts = split(change.key);
  const auto refuse = [&](const std::vector<std::string>& known) {
    const std::string near = change.key.size() <= 200 ? nearest_name(parts.back(), known) : "";
    context.problems.add(
        change.where, fmt::format("unknown key {}", shown_key(change.key)),
        near.empty() ? "tandem predict --help lists the keys" : fmt::format("did you mean {}?", near));
    return std::nullopt;
  };
  if (parts.size() == 1) {
    if (const Key* key = find_key(parts[0])) return of_key(key);
    if (const auto path = short_paths.find(parts[0]); path != short_paths.end())
      return Target{nullptr, split(path->second)};
    std::vector<std::string> known = key_names();
    for (const auto& [short_name, path] : short_paths) known.push_back(short_name);
    return refuse(known);
  }
  if (parts[0] == "model" || parts[0] == "cluster") return Target{nullptr, parts};
  const Key* key = parts.size() == 2 ? find_key(parts[1]) : nullptr;
  const bool in_place =
      key != nullptr && (parts[0] == name(key->section) || (key->also_training && parts[0] == "training"));
  if (in_place) return of_key(key);
  if (std::find(sections.begin(), sections.end(), parts[0]) == sections.end()) {
    parts = {parts[0]};
    return refuse(sections);
  }
  return refuse(key_names());
}

void insert(toml::table& table, const std::string& key, const KeyValue& value);
void append(toml::array& array, const KeyValue& value) {
  std::visit(
      [&]<class T>(const T& item) {
        if constexpr (!std::is_same_v<T, std::monostate> && !std::is_same_v<T, KeyValue::List>)
          array.push_back(item);
      },
      value.is);
}
void insert(toml::table& table, const std::string& key, const KeyValue& value) {
  std::visit(
      [&]<class T>(const T& item) {
        if constexpr (std::is_same_v<T, KeyValue::List>) {
          toml::array array;
          for (const KeyValue& element : item) append(array, element);
          table.insert_or_assign(key, std::move(array));
        } else if constexpr (!std::is_same_v<T, std::monostate>) {
          table.insert_or_assign(key, item);
        }
      },
      value.is);
}

// Text for a path outside the key table means what it means in TOML, and is plain text where it is no TOML.
void insert_text(toml::table& table, const std::string& key, const std::string& typed) {
  try {
    toml::table parsed = toml::parse("v = " + typed);
    const toml::node* node = parsed.get("v");
    if (parsed.size() == 1 && node != nullptr && !node->is_date() && !node->is_time() &&
        !node->is_date_time()) {
      table.insert_or_assign(key, *node);
      return;
    }
  } catch (const toml::parse_error&) {
    // plain text
  }
  table.insert_or_assign(key, typed);
}

toml::table* descend(toml::table& root, const std::vector<std::string>& path, const Override& change,
                     ReadContext& context) {
  toml::table* table = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    toml::node* node = table->get(path[i]);
    if (node == nullptr) node = &table->insert(path[i], toml::table{}).first->second;
    if (!node->is_table()) {
      context.problems.add(change.where,
                           fmt::format("{}: {} is not a table", shown_key(change.key), shown_key(path[i])));
      return nullptr;
    }
    table = node->as_table();
  }
  return table;
}

void erase(toml::table& root, std::string_view section, const std::string& key) {
  if (toml::table* table = root[section].as_table()) table->erase(key);
}

}  // namespace

void apply_overrides(toml::table& root, const std::vector<Override>& overrides, ReadContext& context) {
  std::map<std::string, const Override*> given;
  for (const Override& change : overrides) {
    const auto target = target_of(change, context);
    if (!target) continue;
    std::string dotted;
    for (const std::string& part : target->path) dotted += (dotted.empty() ? "" : ".") + part;
    const auto [earlier, fresh] = given.emplace(dotted, &change);
    if (!fresh && earlier->second->value != change.value) {
      context.problems.add(change.where,
                           fmt::format("{} is given twice: {} and {}", target->path.back(),
                                       text(KeyValue{earlier->second->value}), text(KeyValue{change.value})));
      continue;
    }
    toml::table* table = descend(root, target->path, change, context);
    if (table == nullptr) continue;
    context.overridden[dotted] = change.where;
    if (target->key != nullptr) {
      for (const std::string_view section : {name(target->key->section), std::string_view("training")}) {
        if (section == "training" && !target->key->also_training && target->key->section != Section::Training)
          continue;
        erase(root, section, target->key->name);
        erase(root, section, target->key->alias);
      }
      insert(*table, target->key->name, value_from_text(*target->key, change.value));
      continue;
    }
    if (dotted == "cluster.preset") {
      table->erase("groups");
      table->erase("name");
      if (change.value.find(':') != std::string::npos && !given.contains("cluster.nodes"))
        table->erase("nodes");
    }
    if (dotted == "model.config" || dotted == "cluster.preset")
      table->insert_or_assign(target->path.back(), change.value);
    else
      insert_text(*table, target->path.back(), change.value);
  }
}

}  // namespace tandem
