// A function as each of several ranks, threads of this process.
#pragma once
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "exec/threads/thread_ranks.h"

namespace tandem {

inline void run_ranks(std::uint32_t ranks, const std::function<void(Transport&)>& body) {
  ThreadRanks hub(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&hub, &body, rank] {
      const auto transport = hub.transport(rank);
      try {
        body(*transport);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace tandem
