// Compares a text with the one kept in tests/golden, or rewrites that one (bash tests/run.sh --golden).
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tandem {

// Where two texts part: the first line that differs, as both have it; "" when they are equal.
inline std::string first_difference(const std::string& expected, const std::string& actual) {
  if (expected == actual) return "";
  std::istringstream expected_lines(expected), actual_lines(actual);
  for (int number = 1;; ++number) {
    std::string wanted, found;
    const bool more_wanted = static_cast<bool>(std::getline(expected_lines, wanted));
    const bool more_found = static_cast<bool>(std::getline(actual_lines, found));
    if (!more_wanted && !more_found) return "they differ in the last line's end";
    if (wanted == found && more_wanted == more_found) continue;
    return "line " + std::to_string(number) + "\n  kept: " + (more_wanted ? wanted : "(ends before)") +
           "\n  now:  " + (more_found ? found : "(ends before)");
  }
}

// `file` is a name in tests/golden, e.g. "llama-3.1-8b-report.txt". A golden text holds what a person would
// read: no times of day, no paths of this machine.
inline void expect_golden(const std::string& file, const std::string& actual) {
  const std::filesystem::path path = std::filesystem::path(TANDEM_SOURCE_DIR) / "tests/golden" / file;
  if (std::getenv("TANDEM_REWRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << actual;
    return;
  }
  std::ifstream stream(path);
  ASSERT_TRUE(stream) << path << " is missing: bash tests/run.sh --golden writes it";
  std::stringstream expected;
  expected << stream.rdbuf();
  const std::string difference = first_difference(expected.str(), actual);
  EXPECT_EQ(difference, "") << path << "; if the change is meant: bash tests/run.sh --golden";
}

}  // namespace tandem
