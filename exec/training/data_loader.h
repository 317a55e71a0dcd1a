// Prepares the next step's batches on a thread of its own while this step is computed.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "exec/training/batch.h"

namespace tandem {

// Steps follow one another from `first_step`; two of them are in memory. The source must outlive the loader.
class DataLoader {
 public:
  DataLoader(const TokenSource&, BatchShape, Objective, std::int64_t first_step);
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  // A microbatch of the current step; blocks until it is there and throws what the source threw. Valid until
  // end_step.
  const Batch& wait(std::uint32_t microbatch);
  bool ready(std::uint32_t microbatch) const;
  std::int64_t step() const;
  // Gives the current step's batches back; the next step becomes the current one.
  void end_step();

 private:
  void prepare();
  Batch& batch(std::int64_t step, std::int64_t microbatch);
  bool is_prepared(std::uint32_t microbatch) const;

  const TokenSource& source_;
  const BatchShape shape_;
  const Objective objective_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<std::vector<Batch>, 2> batches_;  // by step modulo two
  std::int64_t step_;                          // the current one
  std::int64_t prepared_ = 0;                  // microbatches so far, counted from first_step
  const std::int64_t first_step_;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace tandem
