// Pairs sends with receives, for arrows in exports and views.
#pragma once
#include <cstdint>
#include <vector>

#include "core/record/run_record.h"

namespace tandem {

struct MessagePair {
  std::uint32_t send = 0, receive = 0;  // spans
};

// By step and message number. Where several pipeline groups are recorded, a number occurs once in each: the
// senders in the order of their ranks meet the receivers in the order of theirs, as on a mesh. A number whose
// sends and receives are not equally many (a side was not recorded) makes no pair.
std::vector<MessagePair> message_pairs(const RunRecord&);

}  // namespace tandem
