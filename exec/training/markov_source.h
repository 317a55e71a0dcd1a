// Made sequences with structure to learn and an entropy that is known exactly.
#pragma once
#include <vector>

#include "exec/training/token_source.h"

namespace tandem {

struct MarkovOptions {
  std::uint64_t seed = 0;
  std::int64_t vocabulary = 0;  // tokens are spread over all of it
  std::int64_t symbols = 64;    // different tokens that occur, at most the vocabulary
  int order = 1;                // tokens that the next one depends on: 1 or 2 (only attention can see two back)
  int successors = 4;           // of each state, with weights 1/2, 1/4, …, the last two equal
  // The next token depends on a class of the whole sequence as well, which the encoder's tokens reveal: 2 gives
  // cross attention something to learn. Symbols are rounded down to a multiple. For models with an encoder: all
  // entropies are those of a reader who knows the class.
  int dialects = 1;
};

// The state z is the last symbol (order 1), or a permutation of the last plus the one before, modulo symbols
// (order 2); successor j of z is permutation j of z. Every state is then equally likely in the long run, tokens
// start that way, and the entropy rate is the mean of the entropies of all states' successors. With order 2 the
// first target has one token of context, which tells nothing: it costs ln(symbols); and there are symbols
// squared contexts to learn, so that 16 symbols are plenty.
class MarkovSource : public TokenSource {
 public:
  explicit MarkovSource(MarkovOptions);  // InputError: too few tokens, an order that is not there

  void sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                std::span<std::int32_t> encoder) const override;
  std::optional<double> entropy_floor(std::int64_t targets) const override;
  // Of chains of order 1 in one dialect.
  std::optional<double> masked_entropy_floor(std::int64_t length, std::int64_t hidden) const override;
  std::string text() const override;

  double entropy_rate() const { return entropy_rate_; }  // nats a token

 private:
  std::int32_t token(std::size_t symbol) const { return tokens_[symbol]; }
  std::size_t state(std::size_t last, std::size_t before) const;

  MarkovOptions options_;
  std::vector<std::int32_t> tokens_;                   // by symbol
  std::vector<std::uint32_t> mix_;                     // the permutation inside an order-2 state
  std::vector<std::vector<std::uint32_t>> successor_;  // by dialect: [state][successor]
  double entropy_rate_ = 0;
};

}  // namespace tandem
