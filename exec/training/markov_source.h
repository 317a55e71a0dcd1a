// Made sequences with structure to learn and an entropy that is known exactly.
#pragma once
#include <span>
#include <vector>

#include "exec/training/token_source.h"

namespace tandem {

struct MarkovOptions {
  std::uint64_t seed = 0;
  std::int64_t vocabulary = 0;  // tokens are spread over all of it
  std::int64_t symbols = 64;    // different tokens that occur, at most the vocabulary
  int order = 1;                // tokens that the next one depends on: 1 or 2 (only attention can see two back)
  int successors = 4;           // of a symbol, with weights 1/2, 1/4, …, the last two equal
  // The next token depends on a class of the whole sequence as well, which the encoder's tokens reveal: 2 gives
  // cross attention something to learn. Symbols are rounded down to a multiple. For models with an encoder: all
  // entropies are those of a reader who knows the class.
  int dialects = 1;
};

// Successor j of a symbol is permutation j of it, so that every symbol is equally likely in the long run, as
// the first one is. With order 2 half of the tokens follow the last one and half, by other permutations, the
// one before it. What the two tell about each other changes over the first positions of a sequence: the entropy
// of each target is a sum over all pairs, whose probabilities are carried on from target to target.
class MarkovSource : public TokenSource {
 public:
  explicit MarkovSource(MarkovOptions);  // InputError: too few tokens, an order that is not there

  void sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                std::span<std::int32_t> encoder) const override;
  std::optional<double> entropy_floor(std::int64_t targets) const override;
  std::string text() const override;

  double entropy_rate() const { return entropies_.back(); }  // nats a token, far from the beginning

 private:
  // Of a symbol `lag` + 1 tokens back.
  std::span<const std::uint32_t> successors(std::size_t dialect, std::size_t lag, std::size_t symbol) const;
  double next_entropy(std::size_t dialect, std::size_t last, std::size_t before) const;
  void add_entropies(std::size_t dialect);

  MarkovOptions options_;
  std::vector<std::int32_t> tokens_;                   // by symbol
  std::vector<std::vector<std::uint32_t>> successor_;  // by dialect and lag: [symbol][successor]
  std::vector<double> entropies_;  // of the first target, the second, …; the last for all later
};

}  // namespace tandem
