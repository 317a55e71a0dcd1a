// What the kernel says of this process' memory and of the machine's load.
#pragma once
#include <cstdint>
#include <string>

namespace tandem {

// Most that was ever resident (VmHWM of /proc/self/status); 0 where that is not known.
std::uint64_t most_resident_bytes();

// What programs may still take on this machine (MemAvailable of /proc/meminfo); 0 where that is not known.
std::uint64_t available_bytes();

// Processor time that others took: what a measurement may have suffered from.
struct MachineLoad {
  double load_average = 0;         // runnable tasks over the last minute
  std::uint64_t stolen_ticks = 0;  // by other guests of the host, since the machine started
};
MachineLoad machine_load();
// "load average 1.2 at the start and 2.1 at the end, 0.3 s stolen by the host".
std::string load_text(const MachineLoad& start, const MachineLoad& end);

}  // namespace tandem
