// Times collectives and messages between ranks that do nothing else.
#pragma once
#include <optional>

#include "core/cost/profile_builder.h"
#include "core/task/task_graph.h"
#include "exec/communicate/paced_transport.h"

namespace tandem {

struct CommunicationOptions {
  int repeats = 15;  // beside one that is not counted
  std::optional<Pace> pace = {};
};

// From the moment at which the last member is ready to that at which the last one is done; the median of the
// repeats. Members are threads of this process, on cores of their own where there are enough, and wait for the
// result; with more members than cores, unless paced, the time that they would take with a core each. Sizes as
// in core/collective, of fp32.
Seconds collective_time(CollectiveKind, Algorithm, std::size_t members, Bytes, const CommunicationOptions&);
Seconds message_time(Bytes, const CommunicationOptions&);

// Each collective and message that the graph's ranks take part in, once. Returns the share of their time that
// is work of a core: 1, or less where a pace makes them wait.
double measure_communication(const TaskGraph&, const std::string& device, const CommunicationOptions&,
                             ProfileBuilder&);

}  // namespace tandem
