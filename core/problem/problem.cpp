// Printing of problems, the nearest known name to a misspelled one, and reading a whole file.
#include "core/problem/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace tandem {
namespace {

std::string joined(const std::vector<Problem>& problems) {
  std::string all;
  for (const Problem& problem : problems) {
    if (!all.empty()) all += '\n';
    all += text(problem);
  }
  return all;
}

// Case and the dash of command lines do not make a name different.
std::string folded(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

[[noreturn]] void refuse_file(const std::string& path, std::string what, std::string hint = {}) {
  refuse({path, 0, 0}, std::move(what), std::move(hint));
}

}  // namespace

std::string text(const Where& where) {
  std::string result = where.file.empty() ? "command line" : where.file;
  if (where.line > 0) result += fmt::format(":{}", where.line);
  if (where.line > 0 && where.column > 0) result += fmt::format(":{}", where.column);
  return result;
}

std::string text(const Problem& problem) {
  std::string result = text(problem.where) + ": " + problem.what;
  if (!problem.hint.empty()) result += "\n  hint: " + problem.hint;
  return result;
}

InputError::InputError(std::vector<Problem> problems)
    : std::runtime_error(joined(problems)), problems_(std::move(problems)) {}
InputError::InputError(Problem problem) : InputError(std::vector<Problem>{std::move(problem)}) {}

void refuse(Where where, std::string what, std::string hint) {
  Problem problem;
  problem.where = std::move(where);
  problem.what = std::move(what);
  problem.hint = std::move(hint);
  throw InputError(std::move(problem));
}

// Optimal string alignment distance.
std::size_t edit_distance(std::string_view typed, std::string_view known) {
  const std::string a = folded(typed), b = folded(known);
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1] ? 1u : 0u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string nearest_name(std::string_view typed, const std::vector<std::string>& known) {
  // Two texts whose lengths differ by more than the limit cannot be near: long junk costs nothing.
  const std::size_t limit = typed.size() / 3;
  std::string best;
  std::size_t best_distance = limit + 1;
  for (const std::string& name : known) {
    const auto [shorter, longer] = std::minmax({name.size(), typed.size()});
    if (longer - shorter > limit) continue;
    const std::size_t distance = edit_distance(typed, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

void check(bool condition, std::string_view what, std::string_view file, int line) {
  if (!condition) throw std::logic_error(fmt::format("{}:{}: {}", file, line, what));
}

std::string read_text_file(const std::string& path, std::size_t limit) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) refuse_file(path, "no such file");
  if (status.type() == fs::file_type::none)
    refuse_file(path, fmt::format("cannot be examined ({})", error.message()));
  if (fs::is_directory(status)) refuse_file(path, "is a directory, not a file", "name a file inside it");
  if (!fs::is_regular_file(status)) refuse_file(path, "is not a regular file (a device, a pipe or a socket)");
  const auto too_large = [&](std::uintmax_t size) {
    refuse_file(path, fmt::format("has {} bytes, more than the {} that are read", size, limit),
                "is this the right file?");
  };
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > limit) too_large(size);
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse_file(path, "cannot be opened for reading", "check its permissions");
  // The file may grow while it is read: the limit holds for what is really read.
  std::string content;
  char block[1 << 16];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    content.append(block, static_cast<std::size_t>(in.gcount()));
    if (content.size() > limit) too_large(content.size());
  }
  if (in.bad()) refuse_file(path, "failed while it was read");
  return content;
}

}  // namespace tandem
