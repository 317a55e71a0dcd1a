// Whether a file can be written without harm to what is read.
#include "core/cli/output_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/problem/problem.h"
#include "core/record/atomic_file.h"

namespace tandem {

void check_output_file(const std::string& target, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!input.empty() && std::filesystem::equivalent(target, input, error) && !error)
      refuse({}, fmt::format("--output {} is the file that is read", target), "give the result another name");
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(target, error);
  // Pipes and terminals take an export directly; opening one to see would be noticed at its other end.
  if (std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status)) return;
  const AtomicFile trial(target);
}

}  // namespace tandem
