// Where training sequences come from: any sequence of any step, in any order, from any rank.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tandem {

// Calls from several threads at once are allowed.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Sequence `sample` of a step's global batch. `main` is what is predicted token by token, each from those
  // before it; `encoder` (empty without an encoder) is what the encoder sees. Throws BackendError when the
  // source can no longer be read.
  virtual void sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                        std::span<std::int32_t> encoder) const = 0;

  // Best expected cross entropy in nats a token over `targets` tokens that follow the first one; nothing when
  // it is not known.
  virtual std::optional<double> entropy_floor(std::int64_t targets) const = 0;
  // The same over `hidden` tokens of a sequence of `length`, chosen at random, each predicted from all others.
  virtual std::optional<double> masked_entropy_floor(std::int64_t /*length*/, std::int64_t /*hidden*/) const {
    return std::nullopt;
  }

  virtual std::string text() const = 0;  // "Markov chain of order 1 over 64 of 50257 tokens, seed 7"
};

}  // namespace tandem
