// CPU cores as a device: a thread for computation, with a team of cores, and one that waits for input.
#pragma once
#include <memory>

#include "exec/device_runtime.h"

namespace tandem {

struct CpuOptions {
  int threads = 1;  // of the computation
  int core = -1;    // first of the cores that they are bound to; -1: not bound
};
std::unique_ptr<DeviceRuntime> cpu_runtime(CpuOptions);

}  // namespace tandem
