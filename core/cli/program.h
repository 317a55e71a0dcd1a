// What both programs do around run_cli: look at the surroundings, mind Ctrl-C, find the sibling program.
#pragma once
#include "core/cli/cli.h"

namespace tandem {

// Opens missing standard streams (so that no file ever takes their place), ignores SIGPIPE, notes Ctrl-C.
void prepare_process();
// True once Ctrl-C was pressed; a second one ends the process at once.
bool interrupted();
// Environment variables, terminals and the folder of this executable.
Surroundings surroundings();
// Replaces this process by `program` of the same folder, with the same arguments. BackendError when there is
// none, which says what cannot be done without it.
[[noreturn]] void start_sibling(const std::string& program, char** argv, const std::string& without);
// An environment variable; "" when it is not set.
std::string variable(const char* name);
// Path of this executable.
std::string own_program();

}  // namespace tandem
