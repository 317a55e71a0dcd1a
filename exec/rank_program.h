// One rank's program, bound to a device and a communicator: prepared once, run in every step.
#pragma once
#include <memory>
#include <vector>

#include "exec/communicate/communicator.h"
#include "exec/device_runtime.h"
#include "exec/exchanges.h"

namespace tandem {

class RankProgram {
 public:
  // The state's memory is set and its parameters are filled by then.
  RankProgram(RankState&, DeviceRuntime&, Communicator&, ExchangeOptions);

  // Hands all tasks of a step to their lanes in the program's order, and waits for the last.
  void run_step(std::int64_t step);
  // By task, of the step before; a task without work starts and ends at once.
  const std::vector<CommunicationTimes>& times() const { return times_; }

 private:
  struct Prepared {
    bool compute = true;
    std::vector<PreparedId> calls;     // several calls of one exchange follow one another on the lane
    std::vector<ExchangeStep> around;  // their host work
    std::vector<Event*> after;
  };
  void prepare(std::uint32_t task);
  void enqueue_exchange(std::uint32_t task);

  RankState& state_;
  DeviceRuntime& device_;
  Communicator& communicator_;
  ExchangeOptions options_;
  std::vector<Prepared> prepared_;
  std::unique_ptr<Event[]> done_;
  std::vector<CommunicationTimes> times_, last_times_;  // last_times_: of an exchange's last call
};

}  // namespace tandem
