// Entropies of hidden symbols against sums over all sequences and all choices of positions.
#include "exec/training/markov_entropy.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>

#include "exec/training/batch.h"
#include "exec/training/markov_source.h"
#include "tests/exec/training/numbered_source.h"

namespace tandem {
namespace {

// 0.7 to oneself, 0.2 to the next, 0.1 to the one after.
const TransitionMatrix circle = {3, {0.7, 0.2, 0.1, 0.1, 0.7, 0.2, 0.2, 0.1, 0.7}};

// Entropy of the symbol at a position given all positions that are not in `hidden` (a bit each), by
// enumeration.
double enumerated(const TransitionMatrix& matrix, unsigned length, unsigned position, unsigned hidden) {
  std::map<std::vector<std::size_t>, std::vector<double>> joint;
  std::size_t all = 1;
  for (unsigned p = 0; p < length; ++p) all *= matrix.symbols;
  for (std::size_t code = 0; code < all; ++code) {
    std::vector<std::size_t> symbols, seen;
    for (std::size_t rest = code, p = 0; p < length; ++p, rest /= matrix.symbols)
      symbols.push_back(rest % matrix.symbols);
    double share = 1.0 / static_cast<double>(matrix.symbols);
    for (unsigned p = 1; p < length; ++p) share *= matrix.share[symbols[p - 1] * matrix.symbols + symbols[p]];
    for (unsigned p = 0; p < length; ++p)
      if (!(hidden >> p & 1)) seen.push_back(symbols[p]);
    std::vector<double>& of_symbol = joint[seen];
    of_symbol.resize(matrix.symbols);
    of_symbol[symbols[position]] += share;
  }
  double entropy = 0;
  for (const auto& [seen, shares] : joint) {
    double total = 0;
    for (const double share : shares) total += share;
    for (const double share : shares) entropy -= share * std::log(share / total);
  }
  return entropy;
}

TEST(HiddenEntropy, IsThatOfAllSequencesAndChoices) {
  constexpr unsigned length = 5;
  for (int count = 1; count <= 5; ++count) {
    double sum = 0, terms = 0;
    for (unsigned hidden = 0; hidden < 1u << length; ++hidden) {
      if (std::popcount(hidden) != count) continue;
      for (unsigned p = 0; p < length; ++p)
        if (hidden >> p & 1) {
          sum += enumerated(circle, length, p, hidden);
          ++terms;
        }
    }
    EXPECT_NEAR(hidden_entropy(circle, length, count), sum / terms, 1e-10) << count << " hidden";
  }
}

TEST(EntropiesByDistance, GrowToThatOfOneSymbol) {
  const std::vector<double> h = entropies_by_distance(circle, 200);
  ASSERT_EQ(h.size(), 201u);
  EXPECT_EQ(h[0], 0);
  for (std::size_t n = 1; n < 40; ++n) EXPECT_GE(h[n], h[n - 1]);
  EXPECT_NEAR(h[200], std::log(3), 1e-12);
}

TEST(MaskedEntropyFloor, IsBelowThatOfPredictingFromOneSide) {
  const MarkovSource source({.seed = 1, .vocabulary = 64});
  const double masked = source.masked_entropy_floor(128, 19).value();
  EXPECT_LT(masked, source.entropy_rate());
  EXPECT_GT(masked, 0);
}

TEST(EntropyFloor, FollowsTheObjective) {
  const MarkovSource source({.seed = 1, .vocabulary = 63});
  const BatchShape shape = {.length = 100, .vocabulary = 64};
  EXPECT_EQ(entropy_floor(shape, source, Objective::NextToken), source.entropy_floor(100));
  EXPECT_EQ(entropy_floor(shape, source, Objective::MaskedTokens), source.masked_entropy_floor(100, 15));
  EXPECT_EQ(entropy_floor(shape, testing::NumberedSource(), Objective::MaskedTokens), std::nullopt);
}

}  // namespace
}  // namespace tandem
