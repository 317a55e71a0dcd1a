// Made sequences of one topic each, which any token of it reveals: something to learn for masked tokens.
#pragma once
#include <vector>

#include "exec/training/token_source.h"

namespace tandem {

struct TopicOptions {
  std::uint64_t seed = 0;
  std::int64_t vocabulary = 0;  // tokens are spread over all of it
  int topics = 8, tokens = 8;   // tokens of a topic, with weights 1/2, 1/4, …, the last two equal; at most 64
};

// Tokens are drawn independently of one another once the topic is: without it a token has ln(topics) more
// entropy. (Neighbours that depend on each other would take a small BERT thousands of steps: it must first
// learn which positions are neighbours.)
class TopicSource : public TokenSource {
 public:
  explicit TopicSource(TopicOptions);  // InputError: more tokens than the vocabulary has

  void sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                std::span<std::int32_t> encoder) const override;
  std::optional<double> entropy_floor(std::int64_t targets) const override;
  // At least one token must be seen.
  std::optional<double> masked_entropy_floor(std::int64_t length, std::int64_t hidden) const override;
  std::string text() const override;

 private:
  TopicOptions options_;
  std::vector<std::int32_t> tokens_;  // [topic][place]
};

}  // namespace tandem
