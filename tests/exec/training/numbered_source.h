// A source whose tokens tell which sample and position they are.
#pragma once
#include "exec/training/token_source.h"

namespace tandem::testing {

// Token p of sample s is 100 s + p; the encoder's is 1000 more.
class NumberedSource : public TokenSource {
 public:
  void sequence(std::int64_t, std::int64_t sample, std::span<std::int32_t> main,
                std::span<std::int32_t> encoder) const override {
    for (std::size_t p = 0; p < main.size(); ++p)
      main[p] = static_cast<std::int32_t>(100 * sample) + static_cast<std::int32_t>(p);
    for (std::size_t p = 0; p < encoder.size(); ++p)
      encoder[p] = static_cast<std::int32_t>(1000 + 100 * sample) + static_cast<std::int32_t>(p);
  }
  std::optional<double> entropy_floor(std::int64_t) const override { return std::nullopt; }
  std::string text() const override { return "numbers"; }
};

}  // namespace tandem::testing
