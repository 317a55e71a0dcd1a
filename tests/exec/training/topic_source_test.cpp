// One topic a sequence, whose tokens have the stated entropy.
#include "exec/training/topic_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/problem/problem.h"

namespace tandem {
namespace {

using Tokens = std::vector<std::int32_t>;

Tokens sequence(const TopicSource& source, std::int64_t sample, std::size_t length) {
  Tokens tokens(length);
  source.sequence(0, sample, tokens, {});
  return tokens;
}

TEST(TopicSource, SharesNoTokenBetweenTopics) {
  const TopicSource source({.seed = 2, .vocabulary = 50257});
  std::set<std::set<std::int32_t>> topics;
  std::map<std::int32_t, int> topics_of;
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    const Tokens tokens = sequence(source, sample, 5000);
    topics.insert({tokens.begin(), tokens.end()});
  }
  ASSERT_EQ(topics.size(), 8u);
  for (const std::set<std::int32_t>& topic : topics) {
    EXPECT_EQ(topic.size(), 8u);
    for (const std::int32_t token : topic) EXPECT_EQ(++topics_of[token], 1) << token;
  }
}

TEST(TopicSource, HasTheStatedEntropyOnceTheTopicIsKnown) {
  const TopicSource source({.seed = 2, .vocabulary = 64, .topics = 1});
  std::map<std::int32_t, double> count;
  for (const std::int32_t token : sequence(source, 0, 1'000'000)) ++count[token];
  double entropy = 0;
  for (const auto& [token, times] : count) entropy -= times / 1e6 * std::log(times / 1e6);
  EXPECT_NEAR(entropy, *source.entropy_floor(100), 0.005);
  EXPECT_EQ(source.masked_entropy_floor(100, 99), source.entropy_floor(100));
}

TEST(TopicSource, StatesNothingWhenAllIsHidden) {
  EXPECT_EQ(TopicSource({.vocabulary = 64}).masked_entropy_floor(10, 10), std::nullopt);
}

TEST(TopicSource, GivesTheEncoderTheSameTopic) {
  const TopicSource source({.seed = 2, .vocabulary = 64});
  Tokens main(5000), encoder(5000);
  source.sequence(0, 7, main, encoder);
  EXPECT_EQ(std::set(main.begin(), main.end()), std::set(encoder.begin(), encoder.end()));
  EXPECT_NE(main, encoder);
}

TEST(TopicSource, RefusesAVocabularyThatIsTooSmall) {
  EXPECT_THROW(TopicSource({.vocabulary = 63}), InputError);
}

}  // namespace
}  // namespace tandem
