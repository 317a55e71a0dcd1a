// Two steps of batches: one is read while the thread fills the other.
#include "exec/training/data_loader.h"

#include "core/problem/problem.h"

namespace tandem {

DataLoader::DataLoader(const TokenSource& source, BatchShape shape, Objective objective,
                       std::int64_t first_step)
    : source_(source), shape_(shape), objective_(objective), step_(first_step), first_step_(first_step) {
  for (std::vector<Batch>& step : batches_) step.resize(static_cast<std::size_t>(shape.microbatches));
  thread_ = std::thread([this] { prepare(); });
}

DataLoader::~DataLoader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DataLoader::prepare() {
  for (std::int64_t number = 0;; ++number) {
    const std::int64_t step = first_step_ + number / shape_.microbatches;
    const std::int64_t microbatch = number % shape_.microbatches;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || step < step_ + 2; });
      if (stop_) return;
    }
    std::exception_ptr failure;
    try {
      fill_batch(batch(step, microbatch), shape_, source_, objective_, step, microbatch);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      failure_ = failure;
      if (!failure) prepared_ = number + 1;
    }
    changed_.notify_all();
    if (failure) return;
  }
}

Batch& DataLoader::batch(std::int64_t step, std::int64_t microbatch) {
  return batches_[static_cast<std::size_t>(step % 2)][static_cast<std::size_t>(microbatch)];
}

bool DataLoader::is_prepared(std::uint32_t microbatch) const {
  return prepared_ > (step_ - first_step_) * shape_.microbatches + microbatch;
}

const Batch& DataLoader::wait(std::uint32_t microbatch) {
  check(microbatch < shape_.microbatches, "a microbatch that the step does not have");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || is_prepared(microbatch); });
  if (!is_prepared(microbatch)) std::rethrow_exception(failure_);
  return batch(step_, microbatch);
}

bool DataLoader::ready(std::uint32_t microbatch) const {
  const std::lock_guard lock(mutex_);
  return is_prepared(microbatch);
}

std::int64_t DataLoader::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

void DataLoader::end_step() {
  {
    const std::lock_guard lock(mutex_);
    ++step_;
  }
  changed_.notify_all();
}

}  // namespace tandem
