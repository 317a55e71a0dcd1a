// Which ranks share a machine.
#pragma once
#include <cstdint>
#include <string>

#include "exec/run/control.h"

namespace tandem {

struct LocalPlace {
  std::uint32_t place = 0, ranks = 1;  // of this rank among those of its machine
  std::uint32_t machines = 1;          // of all ranks
};
// All ranks together, each with the name of its machine.
LocalPlace local_place(Control&, const std::string& machine);

std::string machine_name();  // of this one

}  // namespace tandem
