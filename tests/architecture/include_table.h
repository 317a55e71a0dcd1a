// Which folder may include which, as data: the table of core/README.md.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// `folder` may include what is in `includes`, and whatever those may include.
struct FolderRule {
  std::string folder;
  std::vector<std::string> includes;
};
const std::vector<FolderRule>& folder_rules();

// Headers that are not ours: `pattern` is a regular expression over the whole name between the brackets,
// `homes` are our folders that may include it ("sim/*.cpp": not their headers). The first rule that matches
// counts. No homes: anywhere.
struct ForeignRule {
  std::string pattern;
  std::vector<std::string> homes;
};
const std::vector<ForeignRule>& foreign_rules();

// Everything that `folder` may include, itself among it; empty for a folder without a rule.
std::set<std::string> allowed_folders(const std::string& folder, const std::vector<FolderRule>&);

}  // namespace tandem
