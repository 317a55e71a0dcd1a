// The stated entropy is that of the sequences.
#include "exec/training/markov_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/problem/problem.h"

namespace tandem {
namespace {

using Tokens = std::vector<std::int32_t>;

Tokens sequence(const TokenSource& source, std::int64_t step, std::int64_t sample, std::size_t length) {
  Tokens tokens(length);
  source.sequence(step, sample, tokens, {});
  return tokens;
}

// Entropy in nats of what follows each context, from counts of one million tokens.
class ConditionalEntropy {
 public:
  void add(const Tokens& context, std::int32_t next) { ++counts_[context][next]; }
  double value() const {
    double all = 0, sum = 0;
    for (const auto& [context, next] : counts_) {
      double total = 0;
      for (const auto& [token, count] : next) total += count;
      for (const auto& [token, count] : next) sum -= count * std::log(count / total);
      all += total;
    }
    return sum / all;
  }

 private:
  std::map<Tokens, std::map<std::int32_t, double>> counts_;
};

double measured(const MarkovSource& source, std::size_t context) {
  ConditionalEntropy entropy;
  for (std::int64_t sample = 0; sample < 100; ++sample) {
    const Tokens tokens = sequence(source, 0, sample, 10'000);
    for (auto t = tokens.begin() + static_cast<std::ptrdiff_t>(context); t != tokens.end(); ++t)
      entropy.add(Tokens(t - static_cast<std::ptrdiff_t>(context), t), *t);
  }
  return entropy.value();
}

TEST(MarkovSource, OfOrderOneHasTheStatedEntropy) {
  const MarkovSource source({.seed = 3, .vocabulary = 50257});
  EXPECT_NEAR(measured(source, 1), source.entropy_rate(), 0.005);
  EXPECT_EQ(source.entropy_floor(128), source.entropy_rate());
}

TEST(MarkovSource, OfOrderTwoHasTheStatedEntropyGivenTwoTokensAndMoreGivenOne) {
  const MarkovSource source({.seed = 3, .vocabulary = 1000, .symbols = 16, .order = 2});
  EXPECT_NEAR(measured(source, 2), source.entropy_rate(), 0.005);
  EXPECT_GT(measured(source, 1), source.entropy_rate() + 0.2);
}

// The first target is free; the second follows from two free tokens.
TEST(MarkovSource, OfOrderTwoHasTheStatedEntropyAtTheBeginning) {
  const MarkovSource source({.seed = 3, .vocabulary = 8, .symbols = 8, .order = 2});
  ConditionalEntropy first, second;
  for (std::int64_t sample = 0; sample < 200'000; ++sample) {
    const Tokens tokens = sequence(source, 0, sample, 3);
    first.add({tokens[0]}, tokens[1]);
    second.add({tokens[0], tokens[1]}, tokens[2]);
  }
  EXPECT_DOUBLE_EQ(*source.entropy_floor(1), std::log(8));
  EXPECT_NEAR(first.value(), std::log(8), 0.005);
  EXPECT_NEAR(second.value(), 2 * *source.entropy_floor(2) - std::log(8), 0.005);
}

TEST(MarkovSource, OfOrderTwoNearsItsRateInLongSequences) {
  const MarkovSource source({.seed = 3, .vocabulary = 64, .order = 2});
  EXPECT_GT(*source.entropy_floor(100), source.entropy_rate());
  EXPECT_NEAR(*source.entropy_floor(1'000'000), source.entropy_rate(), 1e-5);
}

TEST(MarkovSource, WithoutCoincidencesHasTheEntropyOfItsWeights) {
  const MarkovSource source({.seed = 3, .vocabulary = 1 << 20, .symbols = 1 << 16, .successors = 4});
  // 1/2, 1/4, 1/8, 1/8; of 65536 symbols, hardly two permutations agree on one.
  EXPECT_NEAR(source.entropy_rate(), 1.75 * std::log(2), 1e-3);
}

TEST(MarkovSource, ReachesEachSymbolEquallyOftenAllOverTheVocabulary) {
  const MarkovSource source({.seed = 9, .vocabulary = 50257});
  std::map<std::int32_t, int> count;
  for (std::int64_t sample = 0; sample < 64; ++sample)
    for (const std::int32_t token : sequence(source, 1, sample, 10'000)) ++count[token];
  ASSERT_EQ(count.size(), 64u);
  for (const auto& [token, times] : count) EXPECT_NEAR(times, 10'000, 700) << token;
  EXPECT_LT(count.begin()->first, 50257 / 64);
  EXPECT_GE(count.rbegin()->first, 50257 / 64 * 63);
  EXPECT_LT(count.rbegin()->first, 50257);
}

TEST(MarkovSource, GivesTheSameSequenceForTheSameStepAndSample) {
  const MarkovSource a({.seed = 9, .vocabulary = 64}), b({.seed = 9, .vocabulary = 64}),
      other({.seed = 10, .vocabulary = 64});
  EXPECT_EQ(sequence(a, 4, 2, 100), sequence(b, 4, 2, 100));
  EXPECT_NE(sequence(a, 4, 2, 100), sequence(a, 4, 3, 100));
  EXPECT_NE(sequence(a, 4, 2, 100), sequence(a, 5, 2, 100));
  EXPECT_NE(sequence(a, 4, 2, 100), sequence(other, 4, 2, 100));
}

// Without the encoder's class a state has two tables of successors, and less is known.
TEST(MarkovSource, OfTwoDialectsHasTheStatedEntropyGivenTheEncodersClass) {
  const MarkovSource source({.seed = 3, .vocabulary = 64, .dialects = 2});
  ConditionalEntropy with, without;
  std::map<std::int32_t, std::int32_t> class_of;
  for (std::int64_t sample = 0; sample < 2000; ++sample) {
    Tokens main(500), encoder(8);
    source.sequence(0, sample, main, encoder);
    const std::set<std::int32_t> classes = {encoder[0] % 2, encoder[1] % 2, encoder[7] % 2};
    ASSERT_EQ(classes.size(), 1u);  // 64 symbols of 64 tokens: a token is its symbol
    for (std::size_t t = 1; t < main.size(); ++t) {
      with.add({encoder[0] % 2, main[t - 1]}, main[t]);
      without.add({main[t - 1]}, main[t]);
    }
  }
  EXPECT_NEAR(with.value(), source.entropy_rate(), 0.005);
  EXPECT_GT(without.value(), source.entropy_rate() + 0.3);
}

TEST(MarkovSource, UsesFewerSymbolsInASmallVocabulary) {
  const MarkovSource source({.seed = 1, .vocabulary = 31, .dialects = 2});
  const Tokens tokens = sequence(source, 0, 0, 5000);
  EXPECT_EQ(std::set<std::int32_t>(tokens.begin(), tokens.end()).size(), 30u);
}

TEST(MarkovSource, RefusesWhatCannotBe) {
  EXPECT_THROW(MarkovSource({.vocabulary = 1}), InputError);
  EXPECT_THROW(MarkovSource({.vocabulary = 64, .order = 3}), InputError);
  EXPECT_THROW(MarkovSource({.vocabulary = 64, .successors = 0}), InputError);
  EXPECT_THROW(MarkovSource({.vocabulary = 64, .dialects = 0}), InputError);
}

}  // namespace
}  // namespace tandem
