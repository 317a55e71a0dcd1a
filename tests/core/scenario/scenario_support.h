// Reading scenarios in tests: the shipped library, and problems as text.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/scenario/scenario.h"

namespace tandem::testing {

inline const Library& shipped_library() {
  static const Library library = read_library(std::string(TANDEM_SOURCE_DIR) + "/scenarios");
  return library;
}

inline const std::string smallest =
    "[model]\nconfig = \"llama-3.1-8b\"\n[cluster]\npreset = \"dgx-h100\"\nnodes = 2\n";

inline Scenario read(const std::string& toml, const std::vector<Override>& overrides = {}) {
  return parse_scenario(toml, "s.toml", overrides, shipped_library());
}

// What is wrong with it, one problem a line as people see it; "" when nothing is.
inline std::string problems_of(const std::string& toml, const std::vector<Override>& overrides = {}) {
  try {
    read(toml, overrides);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace tandem::testing
