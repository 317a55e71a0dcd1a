// Starts a program as a person would, and keeps what it says.
#pragma once
#include <string>
#include <vector>

namespace tandem::testing {

struct Finished {
  int code = -1;  // exit code, or 128 + signal
  std::string out, error;
};

struct Start {
  std::vector<std::string> environment = {};  // "NAME=value", added
  std::string input = {};                     // standard input
  bool closed_output = false;
  std::string output_file = {};  // standard output goes there ("/dev/full")
  long file_size_limit = -1;     // bytes, RLIMIT_FSIZE
  int interrupt_after_ms = -1;   // SIGINT
  std::string folder = {};       // working directory
};

// `program` of the build folder; "tandem".
Finished run(const std::string& program, const std::vector<std::string>& arguments, const Start& start = {});

}  // namespace tandem::testing
