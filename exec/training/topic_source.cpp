// Symbols are dealt out to topics, so that no two topics share one.
#include "exec/training/topic_source.h"

#include <fmt/format.h>

#include "core/problem/problem.h"
#include "exec/training/counter_random.h"
#include "exec/training/geometric_choice.h"
#include "exec/training/symbols.h"

namespace tandem {

TopicSource::TopicSource(TopicOptions options) : options_(options) {
  check(options.topics > 0 && options.tokens > 0 && options.tokens <= 64, "topics of 1 to 64 tokens");
  const auto symbols = static_cast<std::int64_t>(options.topics) * options.tokens;
  if (options.vocabulary < symbols)
    refuse({},
           fmt::format("{} topics of {} tokens do not fit into {} tokens", options.topics, options.tokens,
                       options.vocabulary),
           "use a larger vocabulary, or a data file");
  const RandomKey key = RandomKey{options.seed}.derived("topics");
  const std::vector<std::int32_t> spread = spread_tokens(symbols, options.vocabulary, key);
  for (const std::uint32_t symbol : permutation(spread.size(), key.derived("deal")))
    tokens_.push_back(spread[symbol]);
}

void TopicSource::sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                           std::span<std::int32_t> encoder) const {
  const RandomKey key = sequence_key({options_.seed}, step, sample).derived("topic");
  const GeometricChoice choice{static_cast<std::size_t>(options_.tokens)};
  const std::uint64_t topic = key.derived("topic").below(static_cast<std::uint64_t>(options_.topics), 0);
  const std::span<const std::int32_t> own =
      std::span(tokens_).subspan(static_cast<std::size_t>(topic) * choice.count, choice.count);
  for (std::size_t t = 0; t < main.size(); ++t) main[t] = own[choice.drawn(key.bits(t))];
  const RandomKey encoder_key = key.derived("encoder");
  for (std::size_t t = 0; t < encoder.size(); ++t) encoder[t] = own[choice.drawn(encoder_key.bits(t))];
}

std::optional<double> TopicSource::entropy_floor(std::int64_t) const {
  return GeometricChoice{static_cast<std::size_t>(options_.tokens)}.entropy();
}

std::optional<double> TopicSource::masked_entropy_floor(std::int64_t length, std::int64_t hidden) const {
  if (hidden >= length) return std::nullopt;
  return entropy_floor(hidden);
}

std::string TopicSource::text() const {
  return fmt::format("{} topics of {} of {} tokens, seed {}", options_.topics, options_.tokens,
                     options_.vocabulary, options_.seed);
}

}  // namespace tandem
