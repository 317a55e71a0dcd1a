// Where a row of constants comes from.
#pragma once
#include <map>
#include <string>

#include "core/problem/problem.h"

namespace tandem {

// `like` names the row that gave what this one leaves out.
struct Provenance {
  std::string source, like;
  std::map<std::string, double>
      sigma;  // relative one-sigma by constant: {"eta", 0.08}; "start": in microseconds
  Where where;
};

}  // namespace tandem
