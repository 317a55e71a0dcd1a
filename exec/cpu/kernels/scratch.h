// Working memory of kernels: owned by the caller, one a rank, grown when needed and never shrunk.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tandem::cpu {

class Scratch {
 public:
  // At least `count` floats, aligned to a cache line, with any content. Valid until the next call: a kernel
  // takes its memory once, and no two kernels hold the same Scratch at the same time.
  float* floats(std::size_t count);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float, Free> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace tandem::cpu
