// How much is left to guess in a stationary Markov chain of order 1 when some of its symbols are hidden.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem {

// Probabilities [from][to] of a chain whose stationary distribution is uniform (columns sum to 1 as rows do).
struct TransitionMatrix {
  std::size_t symbols = 0;
  std::vector<double> share;
};

// Entropy in nats of a symbol given the one n before it, for n = 0 (none of it left) to `most`.
std::vector<double> entropies_by_distance(const TransitionMatrix&, std::size_t most);

// Mean entropy in nats of `hidden` symbols of a sequence, each given all that are not hidden, when every choice
// of so many positions is equally likely. A hidden symbol depends on the nearest seen ones alone; with those a
// before and b after it, its entropy is h(a) + h(b) - h(a + b), by the chain rule; at the sequence's ends, h of
// the one distance; and that of a single symbol when nothing is seen.
double hidden_entropy(const TransitionMatrix&, std::int64_t length, std::int64_t hidden);

}  // namespace tandem
