// Growth of working memory.
#include "exec/cpu/kernels/scratch.h"

#include <new>

namespace tandem::cpu {

float* Scratch::floats(std::size_t count) {
  constexpr std::size_t line = 64;
  const std::size_t wanted = (count * sizeof(float) + line - 1) / line * line;
  if (wanted > bytes_) {
    memory_.reset();
    bytes_ = 0;
    memory_.reset(static_cast<float*>(std::aligned_alloc(line, wanted)));
    if (!memory_) throw std::bad_alloc();
    bytes_ = wanted;
  }
  return memory_.get();
}

}  // namespace tandem::cpu
