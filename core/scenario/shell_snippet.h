// Words of a pasted shell script: arrays, comments, continued lines, quotes, and variables with default
// assignments.
#pragma once
#include <string>
#include <vector>

#include "core/problem/problem.h"

namespace tandem {

// One word as typed, and where.
struct Word {
  std::string text;
  Where where;
};

// The arguments that the script would pass on: words of its commands from the first flag on, arrays expanded;
// when no command carries flags, its arrays one after the other. Assignments are followed in order; conditions
// are not judged (both branches are read), and what only a shell can compute ($(…), $1) stays as it stands. A
// quote or an array that never ends is a problem.
std::vector<Word> arguments_of_snippet(const std::string& script, const std::string& path, Problems& problems);

}  // namespace tandem
