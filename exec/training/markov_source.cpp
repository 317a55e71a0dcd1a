// Permutations as successors: whatever the draw, every symbol is equally likely in the long run.
#include "exec/training/markov_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/problem/problem.h"
#include "exec/training/counter_random.h"
#include "exec/training/markov_entropy.h"

namespace tandem {
namespace {

std::vector<std::uint32_t> permutation(std::size_t size, RandomKey key) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = size; i > 1; --i) std::swap(order[i - 1], order[key.below(i, i)]);
  return order;
}

// Successor j has weight 2^-(j+1), the last one what is left: the number of ones that lead random bits.
std::size_t drawn_successor(std::uint64_t bits, std::size_t successors) {
  return std::min(static_cast<std::size_t>(std::countl_one(bits)), successors - 1);
}
double weight(std::size_t successor, std::size_t successors) {
  return std::ldexp(1.0, -static_cast<int>(std::min(successor + 1, successors - 1)));
}

// Of one state, in nats. Two permutations may name the same symbol, whose weights then add.
double entropy(std::span<const std::uint32_t> successors) {
  double sum = 0;
  for (std::size_t j = 0; j < successors.size(); ++j) {
    if (std::find(successors.begin(), successors.begin() + static_cast<std::ptrdiff_t>(j), successors[j]) !=
        successors.begin() + static_cast<std::ptrdiff_t>(j))
      continue;
    double share = 0;
    for (std::size_t i = j; i < successors.size(); ++i)
      if (successors[i] == successors[j]) share += weight(i, successors.size());
    sum -= share * std::log(share);
  }
  return sum;
}

void check_options(const MarkovOptions& options) {
  Problems problems;
  if (options.order != 1 && options.order != 2)
    problems.add({}, fmt::format("a Markov chain of order {}", options.order), "use 1 or 2");
  if (options.successors < 1 || options.successors > 32)
    problems.add({}, fmt::format("a Markov chain with {} successors of a state", options.successors),
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
  const auto successors = static_cast<std::size_t>(options_.successors);
  const RandomKey key = RandomKey{options_.seed}.derived("Markov chain");
  const auto stride = static_cast<std::uint64_t>(options_.vocabulary / options_.symbols);
  for (std::uint64_t s = 0; s < symbols; ++s)
    tokens_.push_back(static_cast<std::int32_t>(s * stride + key.derived("tokens").below(stride, s)));
  mix_ = permutation(symbols, key.derived("state"));
  for (std::size_t d = 0; d < static_cast<std::size_t>(options_.dialects); ++d) {
    std::vector<std::uint32_t>& table = successor_.emplace_back(symbols * successors);
    for (std::size_t j = 0; j < successors; ++j) {
      const std::vector<std::uint32_t> next = permutation(symbols, key.derived(d).derived(j));
      for (std::size_t z = 0; z < symbols; ++z) table[z * successors + j] = next[z];
    }
    for (std::size_t z = 0; z < symbols; ++z)
      entropy_rate_ += entropy(std::span(table).subspan(z * successors, successors)) /
                       static_cast<double>(options_.symbols * options_.dialects);
  }
}

std::size_t MarkovSource::state(std::size_t last, std::size_t before) const {
  return options_.order == 1 ? last : (mix_[last] + before) % mix_.size();
}

void MarkovSource::sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                            std::span<std::int32_t> encoder) const {
  const RandomKey key = RandomKey{options_.seed}
                            .derived("Markov sequence")
                            .derived(static_cast<std::uint64_t>(step))
                            .derived(static_cast<std::uint64_t>(sample));
  const auto symbols = static_cast<std::uint64_t>(options_.symbols);
  const auto dialects = static_cast<std::uint64_t>(options_.dialects);
  const auto successors = static_cast<std::size_t>(options_.successors);
  const std::uint64_t dialect = key.derived("dialect").below(dialects, 0);
  const RandomKey encoder_key = key.derived("encoder");
  for (std::size_t t = 0; t < encoder.size(); ++t)
    encoder[t] = token(encoder_key.below(symbols / dialects, t) * dialects + dialect);
  std::size_t last = 0, before = 0;
  for (std::size_t t = 0; t < main.size(); ++t) {
    const bool free = t < static_cast<std::size_t>(options_.order);
    const std::size_t next =
        free ? key.below(symbols, t)
             : successor_[dialect][state(last, before) * successors + drawn_successor(key.bits(t), successors)];
    before = last;
    last = next;
    main[t] = token(next);
  }
}

std::optional<double> MarkovSource::entropy_floor(std::int64_t targets) const {
  const auto n = static_cast<double>(targets), free = static_cast<double>(options_.order - 1);
  return (free * std::log(static_cast<double>(options_.symbols)) + (n - free) * entropy_rate_) / n;
}

std::optional<double> MarkovSource::masked_entropy_floor(std::int64_t length, std::int64_t hidden) const {
  if (options_.order != 1 || options_.dialects != 1) return std::nullopt;
  const auto symbols = static_cast<std::size_t>(options_.symbols);
  const auto successors = static_cast<std::size_t>(options_.successors);
  TransitionMatrix matrix{symbols, std::vector<double>(symbols * symbols)};
  for (std::size_t z = 0; z < symbols; ++z)
    for (std::size_t j = 0; j < successors; ++j)
      matrix.share[z * symbols + successor_[0][z * successors + j]] += weight(j, successors);
  return hidden_entropy(matrix, length, hidden);
}

std::string MarkovSource::text() const {
  return fmt::format("Markov chain of order {} over {} of {} tokens, seed {}", options_.order, options_.symbols,
                     options_.vocabulary, options_.seed);
}

}  // namespace tandem
