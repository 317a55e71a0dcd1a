// The cores of this machine that this process may use, and threads bound to some of them.
#pragma once
#include <vector>

namespace tandem {

// In ascending order; empty where the system does not say.
std::vector<int> allowed_cores();

// The first of `count` cores for the rank at `place` among the ranks of this machine, each with as many of its
// own; -1 where there are not enough, or not side by side.
int own_cores(std::size_t place, std::size_t ranks, int count);

// The calling thread, and every thread that it starts from now on.
void bind_thread(int first_core, int count);

}  // namespace tandem
