// Communication of one rank, asynchronous and lane by lane: what the executor sees, whatever carries it.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/units/id.h"
#include "exec/communicate/communication_call.h"
#include "exec/event.h"

namespace tandem {

using PreparedId = Id<struct PreparedTag>;

// When a communication was first and ready on its lane, and when it was complete.
struct CommunicationTimes {
  Nanoseconds start = 0, end = 0;
};
// Others may glance at a time while it is noted.
inline void note(Nanoseconds& time, Nanoseconds value) {
  std::atomic_ref(time).store(value, std::memory_order_relaxed);
}

// One use of a prepared call. Everything pointed to lives until `done` is set; who sets an event of `after`
// must not outlive the communicator's transport, which is told.
struct Enqueued {
  PreparedId call;
  std::uint32_t lane = 0;
  std::vector<Event*> after = {};     // all set: ready
  Event* done = nullptr;              // may be null
  std::function<void()> before = {};  // small host work once ready, inside the recorded time; may be empty
  std::function<void()> finish = {};  // … once the call is complete, also inside
  CommunicationTimes* times = nullptr;
};

// Lanes are queues in order: the head of a lane starts when it is ready and the one before it is done; lanes do
// not wait for one another. All but the constructor may be called from any one thread beside the communicator's
// own.
class Communicator {
 public:
  virtual ~Communicator() = default;  // stop()
  // Once for each task; used in every step. A call is used by one enqueued communication at a time.
  virtual PreparedId prepare(CommunicationCall) = 0;
  virtual void enqueue(Enqueued) = 0;
  // Sleeps until all lanes are empty; throws the failure, if there is one.
  virtual void drain() = 0;
  // The failure of the communication, as thrown there (BackendError). After it, every event that was to be set
  // is abandoned, and so is that of whatever is enqueued later.
  virtual void throw_if_failed() const = 0;
  // Ends the communication. Whatever is open or queued is abandoned, and other ranks that wait for it fail.
  virtual void stop() noexcept = 0;
};

// Longer than ranks in step wait for one another; less than an operating system notices.
constexpr Nanoseconds look_on_own_core = 2'000'000;

class Transport;
// Over messages: a thread that owns the transport until stop(), and sleeps while nothing is open. Who waits for
// an event that is set here does its work meanwhile, and looks for news so long before sleeping (`look`:
// look_on_own_core where a waiting computation has one). Such waits must have ended when the communicator is
// destroyed.
std::unique_ptr<Communicator> communicate_over(Transport&, std::uint32_t lanes, Nanoseconds look = 0);

}  // namespace tandem
