// A product of fixed shape whose time says how fast the machine is at the moment.
#include "exec/calibrate/reference.h"

#include "core/cost/profile_builder.h"
#include "exec/cpu/cores.h"
#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/threads.h"
#include "exec/signal.h"

namespace tandem {
namespace {

// About 15 ms of a core: long beside a wake-up.
constexpr std::int64_t width = 1024;
constexpr int repeats = 5;  // of which the median counts: one is often disturbed for a moment

}  // namespace

ReferenceProduct::ReferenceProduct(int threads, int core)
    : threads_(threads), core_(core), a_(width * width, 0.5f), b_(width * width, 0.25f), c_(width * width) {}

Seconds ReferenceProduct::time() {
  if (core_ >= 0) bind_thread(core_, threads_);
  const int before = cpu::team_threads();
  cpu::set_team_threads(threads_);
  std::vector<Seconds> times;
  for (int i = 0; i < repeats; ++i) times.push_back(time_once());
  cpu::set_team_threads(before);
  return median(std::move(times));
}

Seconds ReferenceProduct::time_once() {
  const Nanoseconds start = now();
  cpu::gemm(cpu::Transpose::No, cpu::dense<const float>(a_.data(), width, width), cpu::Transpose::Yes,
            cpu::dense<const float>(b_.data(), width, width), cpu::Write::Replace,
            cpu::dense(c_.data(), width, width));
  return Seconds(static_cast<double>(now() - start) * 1e-9);
}

Flops ReferenceProduct::flops() { return Flops(2.0 * width * width * width); }

}  // namespace tandem
