// Looks models up by path, by folder, then by id.
#include "core/model/find_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/problem/problem.h"

namespace tandem {

namespace fs = std::filesystem;

std::string find_model(const std::string& name_or_path, const std::string& scenarios_dir) {
  std::error_code error;
  const fs::path path = name_or_path;
  if (fs::is_regular_file(path, error)) return name_or_path;
  if (fs::is_regular_file(path / "config.json", error) && !name_or_path.empty())
    return (path / "config.json").string();
  // An id is one name: "../x" is a path, and "" is nothing.
  const std::vector<std::string> ids = list_models(scenarios_dir);
  if (std::binary_search(ids.begin(), ids.end(), name_or_path)) {
    return (fs::path(scenarios_dir) / "models" / name_or_path / "config.json").string();
  }
  if (fs::is_directory(path, error) && !name_or_path.empty()) {
    refuse({name_or_path, 0, 0}, "is a folder without a config.json",
           "name a Hugging Face config.json, or a folder that holds one");
  }
  const std::string nearest = nearest_name(name_or_path, ids);
  std::string what =
      fmt::format("\"{}\" is neither a config.json, nor a folder with one, nor a shipped model", name_or_path);
  refuse({}, std::move(what),
         nearest.empty() ? "tandem models lists the shipped models" : fmt::format("did you mean {}?", nearest));
}

std::vector<std::string> list_models(const std::string& scenarios_dir) {
  std::vector<std::string> ids;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(scenarios_dir) / "models", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    if (fs::is_regular_file(entry->path() / "config.json", unreadable))
      ids.push_back(entry->path().filename().string());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace tandem
