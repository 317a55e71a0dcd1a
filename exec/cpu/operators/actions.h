// What each compute task does on CPU cores, ready to be run in every step.
#pragma once
#include <functional>

#include "exec/cpu/kernels/scratch.h"
#include "exec/device_runtime.h"

namespace tandem {

using Action = std::function<void()>;

// Throws std::logic_error where check_executable let something through that cannot run.
Action make_action(const ComputeCall&, RankState&, cpu::Scratch&);

}  // namespace tandem
