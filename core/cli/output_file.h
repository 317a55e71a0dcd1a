// The file that -o names, looked at before the work whose result it is to hold.
#pragma once
#include <string>
#include <vector>

namespace tandem {

// InputError when the target is one of the files that the command reads: writing would destroy it. BackendError
// when no file can be written there, so that a long run does not fail at its end. Leaves no trace.
void check_output_file(const std::string& target, const std::vector<std::string>& inputs);

}  // namespace tandem
