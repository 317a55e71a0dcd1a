// A product of fixed shape whose time says how fast the machine is at the moment.
#include "exec/calibrate/reference.h"

#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/threads.h"
#include "exec/signal.h"

namespace tandem {
namespace {

// About 15 ms of a core: long beside a wake-up, short beside a step.
constexpr std::int64_t width = 1024;

}  // namespace

ReferenceProduct::ReferenceProduct(int threads)
    : threads_(threads), a_(width * width, 0.5f), b_(width * width, 0.25f), c_(width * width) {}

Seconds ReferenceProduct::time() {
  const int before = cpu::team_threads();
  cpu::set_team_threads(threads_);
  const Nanoseconds start = now();
  cpu::gemm(cpu::Transpose::No, cpu::dense<const float>(a_.data(), width, width), cpu::Transpose::Yes,
            cpu::dense<const float>(b_.data(), width, width), cpu::Write::Replace,
            cpu::dense(c_.data(), width, width));
  const Nanoseconds end = now();
  cpu::set_team_threads(before);
  return Seconds(static_cast<double>(end - start) * 1e-9);
}

Flops ReferenceProduct::flops() const { return Flops(2.0 * width * width * width); }

}  // namespace tandem
