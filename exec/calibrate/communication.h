// Times collectives and messages between ranks that do nothing else.
#pragma once
#include <functional>

#include "core/cost/profile_builder.h"
#include "core/task/task_graph.h"

namespace tandem {

// From the moment at which the last member is ready to that at which the last one is done; the median of
// `repeats` after one that is not counted. Members are threads of this process. Sizes as in core/collective, of
// fp32.
Seconds collective_time(CollectiveKind, Algorithm, std::size_t members, Bytes, int repeats);
Seconds message_time(Bytes, int repeats);

// Each collective and message that the graph's ranks take part in, once.
void measure_communication(const TaskGraph&, const std::string& device, int repeats, ProfileBuilder&);

}  // namespace tandem
