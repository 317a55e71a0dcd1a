// One line that says what a task does and how much of it: "matmul 4096x4096x1024 bf16", "all_reduce ring 64 MiB
// over 8 (tp)".
#pragma once
#include <cstddef>
#include <string>

#include "core/task/work.h"

namespace tandem {

std::string work_text(const Compute&);
// With the algorithm that carries it out and the number of members.
std::string work_text(const Collective&, Algorithm, std::size_t members);
std::string work_text(const Send&);
std::string work_text(const Receive&);
std::string work_text(const Copy&);
std::string work_text(const WaitForInput&);

// Memory traffic of a kernel that reads each operand and writes each result once. Matrix product: batch (m k +
// k n) of the input type and batch m n output elements. Attention: q, k, v and the output; backward these and
// their gradients.
Bytes compulsory_bytes(const Compute&);

}  // namespace tandem
