// Reads source files against the include table and the few rules that every file keeps.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace tandem {

struct SourceFile {
  std::string path;  // from the repository root, "core/model/operator.h"
  std::string text;
};

struct Breach {
  std::string file;
  int line = 0;
  std::string what;
};
std::string text(const Breach&);  // "core/units/id.h:3: includes core/model, …"

// Every header and source under core, sim, exec, gui and tests, in the order of their paths.
std::vector<SourceFile> read_sources(const std::filesystem::path& root);

// Folders include only what the table allows, and by a path from the root that exists; foreign headers stay at
// home.
std::vector<Breach> include_breaches(const std::vector<SourceFile>&);

// Headers start with #pragma once, files with a comment that says their job; no file over `longest_file` lines;
// no notes to oneself left behind.
constexpr int longest_file = 500;
std::vector<Breach> file_breaches(const std::vector<SourceFile>&);

}  // namespace tandem
