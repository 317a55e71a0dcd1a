// Slows a transport down to a given latency and bandwidth, so that communication takes a known time and leaves
// the cores to computation.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/units/quantity.h"
#include "exec/communicate/transport.h"

namespace tandem {

struct Pace {
  Bandwidth bandwidth;
  Seconds latency;
};
std::optional<Pace> parse_pace(std::string_view text);  // "10GB/s,5us"
std::string text(const Pace&);

// A message is received no earlier than its departure + size / bandwidth + latency; messages of one sender to
// one receiver leave one after the other. The real transfer happens meanwhile. All ranks must be paced alike
// and share a clock, hence a machine.
std::unique_ptr<Transport> paced(std::unique_ptr<Transport> real, Pace);

}  // namespace tandem
