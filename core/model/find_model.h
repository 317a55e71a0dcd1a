// Where a model's config.json lies: a path, a folder, or the id of a shipped model.
#pragma once
#include <string>
#include <vector>

namespace tandem {

// The path of the config.json that `name_or_path` means: a file, a folder that holds config.json, or an id
// under SCENARIOS/models. Otherwise an InputError whose hint names the nearest id.
std::string find_model(const std::string& name_or_path, const std::string& scenarios_dir);

// The ids under SCENARIOS/models, sorted; empty when there is no such folder.
std::vector<std::string> list_models(const std::string& scenarios_dir);

}  // namespace tandem
