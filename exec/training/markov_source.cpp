// Permutations as successors: whatever the draw, every symbol is equally likely in the long run.
#include "exec/training/markov_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/problem/problem.h"
#include "exec/training/geometric_choice.h"
#include "exec/training/symbols.h"

namespace tandem {
namespace {

// Targets whose entropy is followed; far fewer are needed until it stands still.
constexpr std::size_t most_entropies = 64;

void check_options(const MarkovOptions& options) {
  Problems problems;
  if (options.order != 1 && options.order != 2)
    problems.add({}, fmt::format("a Markov chain of order {}", options.order), "use 1 or 2");
  if (options.successors < 1 || options.successors > 32)
    problems.add({}, fmt::format("a Markov chain with {} successors of a symbol", options.successors),
                 "use 1 to 32");
  if (options.dialects < 1)
    problems.add({}, fmt::format("a Markov chain of {} dialects", options.dialects), "use 1 or more");
  else if (std::min(options.symbols, options.vocabulary) < std::max<std::int64_t>(2, options.dialects))
    problems.add(
        {},
        fmt::format("a Markov chain over {} of {} tokens is too small", options.symbols, options.vocabulary),
        "use a larger vocabulary, or a data file");
  problems.throw_if_any();
}

}  // namespace

MarkovSource::MarkovSource(MarkovOptions options) : options_(options) {
  check_options(options_);
  options_.symbols = std::min(options_.symbols, options_.vocabulary);
  options_.symbols -= options_.symbols % options_.dialects;
  const auto symbols = static_cast<std::size_t>(options_.symbols);
  const auto count = static_cast<std::size_t>(options_.successors);
  const RandomKey key = RandomKey{options_.seed}.derived("Markov chain");
  tokens_ = spread_tokens(options_.symbols, options_.vocabulary, key);
  for (std::size_t table = 0; table < static_cast<std::size_t>(options_.dialects * options_.order); ++table) {
    std::vector<std::uint32_t>& successors = successor_.emplace_back(symbols * count);
    for (std::size_t j = 0; j < count; ++j) {
      const std::vector<std::uint32_t> next = permutation(symbols, key.derived(table).derived(j));
      for (std::size_t s = 0; s < symbols; ++s) successors[s * count + j] = next[s];
    }
  }
  entropies_.assign(options_.order == 1 ? 1 : most_entropies, 0);
  for (std::size_t d = 0; d < static_cast<std::size_t>(options_.dialects); ++d) add_entropies(d);
}

std::span<const std::uint32_t> MarkovSource::successors(std::size_t dialect, std::size_t lag,
                                                        std::size_t symbol) const {
  const auto order = static_cast<std::size_t>(options_.order),
             count = static_cast<std::size_t>(options_.successors);
  return std::span(successor_[dialect * order + lag]).subspan(symbol * count, count);
}

// Successors may coincide, and their weights then add.
double MarkovSource::next_entropy(std::size_t dialect, std::size_t last, std::size_t before) const {
  const GeometricChoice choice{static_cast<std::size_t>(options_.successors)};
  std::vector<std::pair<std::uint32_t, double>> shares;
  for (std::size_t lag = 0; lag < static_cast<std::size_t>(options_.order); ++lag) {
    const auto next = successors(dialect, lag, lag == 0 ? last : before);
    for (std::size_t j = 0; j < choice.count; ++j)
      shares.emplace_back(next[j], choice.weight(j) / options_.order);
  }
  std::sort(shares.begin(), shares.end());
  double sum = 0;
  for (std::size_t i = 0; i < shares.size();) {
    double share = 0;
    const std::uint32_t symbol = shares[i].first;
    for (; i < shares.size() && shares[i].first == symbol; ++i) share += shares[i].second;
    sum -= share * std::log(share);
  }
  return sum;
}

// Adds this dialect's part of each target's mean entropy.
void MarkovSource::add_entropies(std::size_t dialect) {
  const auto symbols = static_cast<std::size_t>(options_.symbols);
  const double part = 1.0 / options_.dialects, uniform = 1.0 / static_cast<double>(symbols);
  if (options_.order == 1) {
    for (std::size_t s = 0; s < symbols; ++s) entropies_[0] += part * uniform * next_entropy(dialect, s, 0);
    return;
  }
  const GeometricChoice choice{static_cast<std::size_t>(options_.successors)};
  std::vector<double> entropy(symbols * symbols), pair(symbols * symbols, uniform * uniform);
  for (std::size_t i = 0; i < entropy.size(); ++i)
    entropy[i] = next_entropy(dialect, i % symbols, i / symbols);  // [before][last]
  // The second symbol is as free as the first: it costs the logarithm.
  entropies_[0] += part * std::log(static_cast<double>(symbols));
  for (std::size_t target = 1; target < entropies_.size(); ++target) {
    std::vector<double> next(pair.size());
    for (std::size_t i = 0; i < pair.size(); ++i) {
      entropies_[target] += part * pair[i] * entropy[i];
      for (std::size_t lag = 0; lag < 2; ++lag) {
        const auto successor = successors(dialect, lag, lag == 0 ? i % symbols : i / symbols);
        for (std::size_t j = 0; j < choice.count; ++j)
          next[i % symbols * symbols + successor[j]] += pair[i] * choice.weight(j) / 2;
      }
    }
    pair = std::move(next);
  }
}

void MarkovSource::sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                            std::span<std::int32_t> encoder) const {
  const RandomKey key = sequence_key({options_.seed}, step, sample).derived("Markov chain");
  const RandomKey lag_key = key.derived("lag"), encoder_key = key.derived("encoder");
  const auto symbols = static_cast<std::uint64_t>(options_.symbols);
  const auto dialects = static_cast<std::uint64_t>(options_.dialects);
  const auto order = static_cast<std::size_t>(options_.order);
  const GeometricChoice choice{static_cast<std::size_t>(options_.successors)};
  const std::uint64_t dialect = key.derived("dialect").below(dialects, 0);
  for (std::size_t t = 0; t < encoder.size(); ++t)
    encoder[t] = tokens_[encoder_key.below(symbols / dialects, t) * dialects + dialect];
  std::size_t last = 0, before = 0;
  for (std::size_t t = 0; t < main.size(); ++t) {
    const std::size_t lag = lag_key.below(order, t);
    const std::size_t next =
        t < order ? key.below(symbols, t)
                  : successors(dialect, lag, lag == 0 ? last : before)[choice.drawn(key.bits(t))];
    before = last;
    last = next;
    main[t] = tokens_[next];
  }
}

std::optional<double> MarkovSource::entropy_floor(std::int64_t targets) const {
  const std::int64_t followed = std::min<std::int64_t>(targets, static_cast<std::int64_t>(entropies_.size()));
  double sum = static_cast<double>(targets - followed) * entropies_.back();
  for (std::int64_t t = 0; t < followed; ++t) sum += entropies_[static_cast<std::size_t>(t)];
  return sum / static_cast<double>(targets);
}

std::string MarkovSource::text() const {
  return fmt::format("Markov chain of order {} over {} of {} tokens, seed {}", options_.order, options_.symbols,
                     options_.vocabulary, options_.seed);
}

}  // namespace tandem
