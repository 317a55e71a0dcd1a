// The parts of a scenario file, each read by one function into the scenario; faults go into the context.
#pragma once
#include <toml++/toml.h>

#include <map>
#include <string>
#include <vector>

#include "core/scenario/keys.h"
#include "core/scenario/scenario.h"

namespace tandem {

// The file being read, its faults so far, and where the keys came from that overrides put into it.
struct ReadContext {
  std::string file;
  Problems problems;
  std::map<std::string, Where> overridden;  // by dotted path

  // Place of a key of [section]: in the file, or where its override was typed.
  Where where(const std::string& path, const toml::key& key) const;
};

KeyValue value_of(const toml::node&);
// A key for messages: as it is when it is a plain word, quoted and cut when it is not.
std::string shown_key(std::string_view key);
// The table of that name; null when absent, and a problem when it is something else.
const toml::table* section_table(const toml::table& root, std::string_view name, ReadContext& context);

// Puts the overrides into the parsed file: aliases are resolved, the file's own spelling is replaced.
void apply_overrides(toml::table& root, const std::vector<Override>& overrides, ReadContext& context);

// [plan], [training], [simulation] and [cost] by the key table.
void read_keys(const toml::table& root, Scenario& scenario, ReadContext& context);

// [model]: config, name and override. The file is looked up beside the scenario, then among the shipped models.
void read_model_section(const toml::table& root, Scenario& scenario, const Library& library,
                        ReadContext& context);

// [cluster]: preset or groups, then the overrides of node, device, link and fabric.
void read_cluster_section(const toml::table& root, Scenario& scenario, const Library& library,
                          ReadContext& context);

// The same as canonical TOML.
std::string cluster_to_toml(const ClusterSpec&);

}  // namespace tandem
