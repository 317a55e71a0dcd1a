// A source of sequences that goes on where an earlier run stopped.
#pragma once
#include "exec/training/token_source.h"

namespace tandem {

// Step 0 of it is step `first` of the whole training.
class ContinuedSource : public TokenSource {
 public:
  ContinuedSource(const TokenSource& whole, std::int64_t first) : whole_(whole), first_(first) {}

  void sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                std::span<std::int32_t> encoder) const override {
    whole_.sequence(first_ + step, sample, main, encoder);
  }
  std::optional<double> entropy_floor(std::int64_t targets) const override {
    return whole_.entropy_floor(targets);
  }
  std::optional<double> masked_entropy_floor(std::int64_t length, std::int64_t hidden) const override {
    return whole_.masked_entropy_floor(length, hidden);
  }
  std::string text() const override { return whole_.text(); }

 private:
  const TokenSource& whole_;
  std::int64_t first_;
};

}  // namespace tandem
