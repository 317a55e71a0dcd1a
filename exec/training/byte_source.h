// Sequences of bytes from any file, each at an offset that seed, step and sample decide.
#pragma once
#include "exec/training/token_source.h"

namespace tandem {

// With an encoder, the encoder sees the bytes right before the main sequence. The file is read piece by piece
// and must not change meanwhile.
class ByteSource : public TokenSource {
 public:
  // InputError: no such file, fewer than `bytes_needed` bytes (one sequence of main and encoder tokens and the
  // last target), a vocabulary below 256.
  ByteSource(const std::string& path, std::uint64_t seed, std::int64_t vocabulary, std::int64_t bytes_needed);
  ~ByteSource() override;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  void sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                std::span<std::int32_t> encoder) const override;
  std::optional<double> entropy_floor(std::int64_t) const override { return std::nullopt; }
  std::string text() const override;

 private:
  std::string path_;
  std::uint64_t seed_;
  std::int64_t size_ = 0;
  int file_ = -1;
};

}  // namespace tandem
