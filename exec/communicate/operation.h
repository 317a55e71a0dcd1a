// A communication that goes on step by step without ever blocking, and can be started again once done.
#pragma once
#include <memory>

#include "exec/communicate/communication_call.h"
#include "exec/communicate/transport.h"

namespace tandem {

class Operation {
 public:
  virtual ~Operation() = default;
  virtual void start() = 0;
  // As far as possible at this moment. Done once, after which start() may follow.
  virtual Advance advance() = 0;
};

// The state machine of a call. The transport must outlive it.
std::unique_ptr<Operation> make_operation(const CommunicationCall&, Transport&);

// Starts an operation and waits for its end, for code that has nothing else to do.
void complete(Transport&, Operation&);

}  // namespace tandem
