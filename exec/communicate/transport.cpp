// Waiting for one request.
#include "exec/communicate/transport.h"

namespace tandem {

void complete(Transport& transport, Request request) {
  for (;;) {
    const std::uint32_t seen = transport.signal().value();
    const Advance advance = transport.test(request);
    if (advance == Advance::Done) return;
    if (advance == Advance::Blocked) transport.signal().rest(seen, transport.rest());
  }
}

}  // namespace tandem
