// Reading /proc.
#include "exec/run/process_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tandem {

namespace {

// Of a file of lines "Key:   1234 kB"; 0 when there is none.
std::uint64_t bytes_of(const char* file, const std::string& key) {
  std::ifstream status(file);
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    std::uint64_t kibibytes = 0;
    words >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

std::uint64_t most_resident_bytes() { return bytes_of("/proc/self/status", "VmHWM:"); }
std::uint64_t available_bytes() { return bytes_of("/proc/meminfo", "MemAvailable:"); }

MachineLoad machine_load() {
  MachineLoad load;
  std::ifstream("/proc/loadavg") >> load.load_average;
  // cpu user nice system idle iowait irq softirq steal (proc(5)).
  std::ifstream stat("/proc/stat");
  std::string cpu;
  std::uint64_t ticks[8] = {};
  stat >> cpu;
  for (std::uint64_t& each : ticks) stat >> each;
  if (stat) load.stolen_ticks = ticks[7];
  return load;
}

std::string load_text(const MachineLoad& start, const MachineLoad& end) {
  const double second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return fmt::format("load average {:.1f} at the start and {:.1f} at the end, {:.2f} s stolen by the host",
                     start.load_average, end.load_average,
                     static_cast<double>(end.stolen_ticks - start.stolen_ticks) / second);
}

}  // namespace tandem
