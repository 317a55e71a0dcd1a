// Line by line through the sources: include directions, foreign headers, file rules.
#include "tests/architecture/source_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/architecture/include_table.h"

namespace tandem {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// "core/plan" of "core/plan/schedules/gpipe.cpp", "sim" of "sim/flows.cpp": the grain of the table.
std::string folder_of(const std::string& path) {
  const std::size_t first = path.find('/');
  if (first == std::string::npos) return "";
  if (path.substr(0, first) != "core") return path.substr(0, first);
  const std::size_t second = path.find('/', first + 1);
  return second == std::string::npos ? "core" : path.substr(0, second);
}

// A home is a folder with everything below it, or the sources of a folder without its headers ("sim/*.cpp").
bool is_within(const std::string& path, std::string home) {
  constexpr std::string_view sources_only = "*.cpp";
  if (home.ends_with(sources_only)) {
    home.resize(home.size() - sources_only.size());
    return path.starts_with(home) && path.ends_with(".cpp");
  }
  return path.starts_with(home + "/");
}

bool is_header(const std::string& path) { return path.ends_with(".h") || path.ends_with(".cuh"); }

struct Include {
  std::string name;
  bool foreign = false;  // <name>, not "name"
};

bool read_include(const std::string& line, Include& include) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)re");
  std::smatch match;
  if (line.find('#') == std::string::npos || !std::regex_match(line, match, pattern)) return false;
  include = {.name = match[2], .foreign = match[1] == "<"};
  return true;
}

std::string own_breach(const std::string& from, const std::string& name, const std::set<std::string>& known) {
  if (!known.contains(name)) {
    return fmt::format("includes \"{}\", which is no file counted from the repository root", name);
  }
  const std::set<std::string> allowed = allowed_folders(folder_of(from), folder_rules());
  if (allowed.empty()) return fmt::format("folder {} has no line in the include table", folder_of(from));
  if (allowed.contains(folder_of(name))) return "";
  return fmt::format("{} includes {} (\"{}\"); it may include only {}", folder_of(from), folder_of(name), name,
                     fmt::join(allowed, ", "));
}

std::string foreign_breach(const std::string& from, const std::string& name) {
  for (const ForeignRule& rule : foreign_rules()) {
    if (!std::regex_match(name, std::regex(rule.pattern))) continue;
    const bool at_home = std::any_of(rule.homes.begin(), rule.homes.end(),
                                     [&](const std::string& home) { return is_within(from, home); });
    // Tests look at results with the libraries that wrote them.
    if (rule.homes.empty() || at_home || is_within(from, "tests")) return "";
    return fmt::format("includes <{}>, which belongs in {}", name, fmt::join(rule.homes, ", "));
  }
  return fmt::format("includes <{}>, a library without a line in the include table", name);
}

// The words are put together here so that this file does not hold them.
bool holds_note_to_oneself(const std::string& line) {
  static const std::vector<std::string> words = {std::string("TO") + "DO", std::string("FIX") + "ME"};
  return std::any_of(words.begin(), words.end(),
                     [&](const auto& word) { return line.find(word) != std::string::npos; });
}

}  // namespace

std::string text(const Breach& breach) {
  return fmt::format("{}:{}: {}", breach.file, breach.line, breach.what);
}

std::vector<SourceFile> read_sources(const std::filesystem::path& root) {
  std::vector<SourceFile> sources;
  for (const char* top : {"core", "sim", "exec", "gui", "tests"}) {
    if (!std::filesystem::is_directory(root / top)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".cuh") continue;
      std::ifstream stream(entry.path());
      std::stringstream content;
      content << stream.rdbuf();
      sources.push_back({entry.path().lexically_relative(root).generic_string(), content.str()});
    }
  }
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return sources;
}

std::vector<Breach> include_breaches(const std::vector<SourceFile>& sources) {
  std::set<std::string> known;
  for (const SourceFile& source : sources) known.insert(source.path);
  std::vector<Breach> breaches;
  for (const SourceFile& source : sources) {
    int number = 0;
    for (const std::string& line : lines_of(source.text)) {
      ++number;
      Include include;
      if (!read_include(line, include)) continue;
      const std::string what = include.foreign ? foreign_breach(source.path, include.name)
                                               : own_breach(source.path, include.name, known);
      if (!what.empty()) breaches.push_back({source.path, number, what});
    }
  }
  return breaches;
}

std::vector<Breach> file_breaches(const std::vector<SourceFile>& sources) {
  std::vector<Breach> breaches;
  for (const SourceFile& source : sources) {
    const std::vector<std::string> lines = lines_of(source.text);
    if (lines.empty() || !lines[0].starts_with("// ")) {
      breaches.push_back({source.path, 1, "the first line is no comment that says what the file is for"});
    }
    if (is_header(source.path) && std::find(lines.begin(), lines.end(), "#pragma once") == lines.end()) {
      breaches.push_back({source.path, 1, "a header without #pragma once"});
    }
    if (std::ssize(lines) > longest_file) {
      breaches.push_back(
          {source.path, static_cast<int>(lines.size()), fmt::format("over {} lines", longest_file)});
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (holds_note_to_oneself(lines[i])) {
        breaches.push_back({source.path, static_cast<int>(i) + 1, "a note to oneself left behind"});
      }
    }
  }
  return breaches;
}

}  // namespace tandem
