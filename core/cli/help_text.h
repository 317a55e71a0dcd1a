// Help, manual page and completion scripts, all written from the tables of commands and keys.
#pragma once
#include <string>

#include "core/cli/command_table.h"
#include "core/cli/output.h"

namespace tandem {

void write_overview(Output&);                  // tandem --help
void write_help(const CommandSpec&, Output&);  // tandem COMMAND --help
std::string manual_page();                     // roff, section 1
// Throws InputError for another shell than bash, zsh and fish.
std::string completion_script(const std::string& shell);

}  // namespace tandem
