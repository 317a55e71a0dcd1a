// [model]: finds the configuration, applies overrides of its keys, reads it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/cluster/table_reader.h"
#include "core/model/config_keys.h"
#include "core/model/find_model.h"
#include "core/scenario/sections.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ConfigText {
  std::string path, name, text;
};

constexpr std::size_t most_config_bytes = 16u << 20;

std::string name_of(const fs::path& file) {
  if (file.filename() == "config.json" && file.has_parent_path()) {
    const fs::path folder = fs::absolute(file).parent_path().filename();
    if (!folder.empty()) return folder.string();
  }
  return file.stem().string();
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// A configuration: JSON itself, a file or folder seen from the scenario, or a shipped model's id.
std::optional<ConfigText> find_config(const std::string& typed, const Where& where, const Library& library,
                                      ReadContext& context) {
  if (typed.starts_with('{')) return ConfigText{where.file, "model", typed};
  const auto read = [&](const fs::path& file) -> std::optional<ConfigText> {
    try {
      return ConfigText{file.string(), name_of(file), read_text_file(file.string(), most_config_bytes)};
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) context.problems.add(problem);
      return std::nullopt;
    }
  };
  if (typed.empty() || typed.size() > 4000) {
    context.problems.add(where, "config names no model",
                         "give a shipped model's id or the path of a config.json");
    return std::nullopt;
  }
  const fs::path beside = where.file.empty() ? fs::path(typed) : fs::path(where.file).parent_path() / typed;
  if (is_file(beside / "config.json")) return read(beside / "config.json");
  const fs::path shipped = fs::path(library.folder) / "models" / typed / "config.json";
  if (is_there(beside) && !(fs::is_directory(beside) && is_file(shipped))) {
    if (fs::is_directory(beside)) {
      context.problems.add(where, fmt::format("{} holds no config.json", beside.string()));
      return std::nullopt;
    }
    return read(beside);
  }
  if (is_file(shipped)) return read(shipped);
  const std::string near = nearest_name(typed, list_models(library.folder));
  context.problems.add(
      where, fmt::format("config = {}: neither a file nor a shipped model", text(KeyValue{typed})),
      near.empty() ? "tandem models lists the shipped ones" : fmt::format("did you mean {}?", near));
  return std::nullopt;
}

// Deeper than any configuration and far from what a recursive writer could not take.
bool too_deep(const std::string& text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_text) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        in_text = false;
    } else if (text[i] == '"') {
      in_text = true;
    } else if (text[i] == '{' || text[i] == '[') {
      if (++depth > 100) return true;
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return false;
}

json to_json(const KeyValue& value) {
  return std::visit(
      []<class T>(const T& item) -> json {
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<T, std::string>)
          return item == "null" ? json(nullptr) : json(item);
        else if constexpr (std::is_same_v<T, KeyValue::List>) {
          json list = json::array();
          for (const KeyValue& element : item) list.push_back(to_json(element));
          return list;
        } else
          return item;
      },
      value.is);
}

// [model.override]: keys of the configuration that the scenario says differently.
struct Changes {
  const toml::table& table;
  ReadContext& context;

  Where where(const toml::key& key) const {
    return context.where("model.override." + std::string(key.str()), key);
  }

  // Multimodal configurations keep the text model's keys in an object of their own.
  json applied_to(json config) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const KeyValue value = value_of(node);
      if (std::holds_alternative<std::monostate>(value.is)) {
        context.problems.add(where(key), fmt::format("{}: a number, a text, true or false, or a list is wanted",
                                                     shown_key(name)));
        continue;
      }
      const bool inside =
          config.contains("text_config") && config["text_config"].is_object() && !config.contains(name);
      (inside ? config["text_config"] : config)[name] = to_json(value);
    }
    return config;
  }

  // The text that was read is no longer the file's: its lines would mislead, the override's line helps.
  void add(const InputError& error) const {
    for (Problem problem : error.problems()) {
      problem.where.line = problem.where.column = 0;
      for (const auto& [key, node] : table)
        if (problem.what.find(key.str()) != std::string::npos) problem.where = where(key);
      context.problems.add(std::move(problem));
    }
  }

  // Taking an override that changes nothing would be accepting and ignoring it.
  void refuse_ineffective(const json& before, const ModelSpec& model) const {
    std::vector<std::string> known = effective_keys();
    for (const auto& [key, value] : before.items()) known.push_back(key);
    for (const auto& [toml_key, node] : table) {
      const std::string key(toml_key.str());
      const bool unknown =
          std::find(model.unknown_keys.begin(), model.unknown_keys.end(), key) != model.unknown_keys.end();
      if (!unknown && is_effective_key(key)) continue;
      const std::string near = before.contains(key) || key.size() > 200 ? "" : nearest_name(key, known);
      context.problems.add(
          where(toml_key),
          fmt::format("{} has no effect on a prediction of a {} model", shown_key(key), model.model_type),
          near.empty() || near == key ? "remove it" : fmt::format("did you mean {}?", near));
    }
  }
};

void read_config(const ConfigText& found, const toml::table* override_table, Scenario& scenario,
                 ReadContext& context) {
  if (override_table == nullptr) {
    scenario.model = parse_model(found.text, found.path, found.name);
    scenario.model_text = json::parse(found.text).dump();
    return;
  }
  const json before = json::parse(found.text, nullptr, false);
  if (!before.is_object()) {
    parse_model(found.text, found.path, found.name);  // says what is wrong, with its line
    return;
  }
  const Changes changes{*override_table, context};
  scenario.model_text = changes.applied_to(before).dump(-1, ' ', false, json::error_handler_t::replace);
  try {
    scenario.model = parse_model(scenario.model_text, found.path, found.name);
    changes.refuse_ineffective(before, scenario.model);
  } catch (const InputError& error) {
    changes.add(error);
  }
}

}  // namespace

void read_model_section(const toml::table& root, Scenario& scenario, const Library& library,
                        ReadContext& context) {
  const toml::table* table = section_table(root, "model", context);
  if (table == nullptr) {
    if (!root.contains("model"))
      context.problems.add(
          {.file = context.file}, "no model is given",
          "add [model] with config = \"llama-3.1-8b\", or --model; tandem models lists the shipped ones");
    return;
  }
  const std::size_t faults = context.problems.list().size();
  TableReader reader(*table, context.file, "[model]", context.problems);
  std::string config, given_name;
  reader.read("config", config);
  reader.read("name", given_name);
  const toml::table* changes = reader.table("override");
  reader.refuse_others();
  if (!reader.has("config"))
    reader.complain("config", "config is missing", "add config = \"llama-3.1-8b\" or a path");
  if (context.problems.list().size() > faults && (config.empty() || !reader.has("config"))) return;
  auto found =
      find_config(config, context.where("model.config", table->find("config")->first), library, context);
  if (!found) return;
  if (!given_name.empty()) found->name = given_name;
  if (too_deep(found->text)) {
    context.problems.add({.file = found->path}, "is nested more than a hundred levels deep",
                         "is this a model's config.json?");
    return;
  }
  try {
    read_config(*found, changes, scenario, context);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) context.problems.add(problem);
  } catch (const json::exception& error) {
    context.problems.add({.file = found->path}, fmt::format("is not sound JSON ({})", error.what()));
  }
}

}  // namespace tandem
