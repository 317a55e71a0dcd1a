// Which samples and positions a rank reads, and what it is to predict there.
#include "exec/training/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/problem/problem.h"
#include "exec/training/counter_random.h"

namespace tandem {
namespace {

std::int32_t mask_token(const BatchShape& shape) { return static_cast<std::int32_t>(shape.vocabulary - 1); }

// One sequence's tokens and targets, whole.
struct Sample {
  std::vector<std::int32_t> tokens, targets, encoder;
};

Sample next_token_sample(const BatchShape& shape, const TokenSource& source, std::int64_t step,
                         std::int64_t number) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(shape.length + 1));
  Sample sample;
  sample.encoder.resize(static_cast<std::size_t>(shape.encoder_length));
  source.sequence(step, number, all, sample.encoder);
  sample.tokens.assign(all.begin(), all.end() - 1);
  sample.targets.assign(all.begin() + 1, all.end());
  return sample;
}

// Selection sampling: every set of so many positions is equally likely.
Sample masked_sample(const BatchShape& shape, const TokenSource& source, std::int64_t step,
                     std::int64_t number) {
  Sample sample;
  sample.tokens.resize(static_cast<std::size_t>(shape.length));
  sample.targets.assign(sample.tokens.size(), -1);
  source.sequence(step, number, sample.tokens, {});
  const RandomKey key = RandomKey{}
                            .derived("masked tokens")
                            .derived(static_cast<std::uint64_t>(step))
                            .derived(static_cast<std::uint64_t>(number));
  auto left = static_cast<std::uint64_t>(targets_per_sequence(shape, Objective::MaskedTokens));
  for (std::size_t p = 0; p < sample.tokens.size(); ++p) {
    if (key.below(sample.tokens.size() - p, p) >= left) continue;
    sample.targets[p] = sample.tokens[p];
    sample.tokens[p] = mask_token(shape);
    --left;
  }
  return sample;
}

void append_at(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& from,
               std::span<const std::int32_t> positions) {
  for (const std::int32_t p : positions) to.push_back(from[static_cast<std::size_t>(p)]);
}

void check_tokens(const std::vector<std::int32_t>& tokens, std::int64_t vocabulary) {
  for (const std::int32_t token : tokens)
    check(0 <= token && token < vocabulary, fmt::format("token {} of {}", token, vocabulary));
}

const Attention* self_attention(const ModelGraph& model) {
  for (std::uint32_t o = 0; o < model.size(); ++o) {
    const Operator& op = model[OperatorId(o)];
    const auto* attention = std::get_if<Attention>(&op.kind);
    if (attention && !attention->cross && op.sequence == Sequence::Main) return attention;
  }
  return nullptr;
}

}  // namespace

Objective objective(const ModelGraph& model) {
  const Attention* attention = self_attention(model);
  return attention && attention->mask == AttentionMask::Full ? Objective::MaskedTokens : Objective::NextToken;
}

BatchShape batch_shape(const ModelGraph& model, const Plan& plan, RankId rank) {
  BatchShape shape;
  shape.sequences = plan.tokens.batch;
  shape.length = plan.tokens.main;
  shape.encoder_length = plan.tokens.encoder;
  shape.microbatches = plan.microbatches;
  shape.data_place = plan.mesh.place(rank, Axis::Data).place;
  shape.data_ranks = plan.mesh.shape().dp;
  shape.context_place = plan.mesh.place(rank, Axis::Context).place;
  shape.context_ranks = plan.mesh.shape().cp;
  shape.zigzag = shape.context_ranks > 1 && plan.spec.cp_comm_type == ContextCommunication::RingP2p &&
                 objective(model) == Objective::NextToken;
  for (std::uint32_t o = 0; o < model.size(); ++o)
    if (const auto* loss = std::get_if<CrossEntropy>(&model[OperatorId(o)].kind))
      shape.vocabulary = loss->vocabulary;
  return shape;
}

std::vector<std::int32_t> local_positions(const BatchShape& shape, Sequence sequence) {
  const bool encoder = sequence == Sequence::Encoder;
  const std::int64_t length = encoder ? shape.local_encoder_length() : shape.local_length();
  const std::int64_t place = shape.context_place;
  std::vector<std::int32_t> positions;
  const auto append = [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t p = begin; p < begin + count; ++p) positions.push_back(static_cast<std::int32_t>(p));
  };
  if (encoder || !shape.zigzag) {
    append(place * length, length);
  } else {
    append(place * (length / 2), length / 2);
    append((2 * shape.context_ranks - 1 - place) * (length / 2), length / 2);
  }
  return positions;
}

std::int64_t targets_per_sequence(const BatchShape& shape, Objective objective) {
  if (objective == Objective::NextToken) return shape.length;
  return std::max<std::int64_t>(1, (shape.length * 15 + 50) / 100);
}

std::optional<double> entropy_floor(const BatchShape& shape, const TokenSource& source, Objective objective) {
  if (objective == Objective::NextToken) return source.entropy_floor(shape.length);
  return source.masked_entropy_floor(shape.length, targets_per_sequence(shape, objective));
}

std::int64_t source_vocabulary(std::int64_t vocabulary, Objective objective) {
  return objective == Objective::MaskedTokens ? vocabulary - 1 : vocabulary;
}

void fill_batch(Batch& batch, const BatchShape& shape, const TokenSource& source, Objective objective,
                std::int64_t step, std::int64_t microbatch) {
  const std::vector<std::int32_t> main = local_positions(shape);
  const std::vector<std::int32_t> encoder = local_positions(shape, Sequence::Encoder);
  for (std::vector<std::int32_t>* rows :
       {&batch.tokens, &batch.targets, &batch.positions, &batch.encoder_tokens, &batch.encoder_positions})
    rows->clear();
  const std::int64_t first = (microbatch * shape.data_ranks + shape.data_place) * shape.sequences;
  for (std::int64_t number = first; number < first + shape.sequences; ++number) {
    const Sample sample = objective == Objective::MaskedTokens ? masked_sample(shape, source, step, number)
                                                               : next_token_sample(shape, source, step, number);
    append_at(batch.tokens, sample.tokens, main);
    append_at(batch.targets, sample.targets, main);
    append_at(batch.encoder_tokens, sample.encoder, encoder);
    batch.positions.insert(batch.positions.end(), main.begin(), main.end());
    batch.encoder_positions.insert(batch.encoder_positions.end(), encoder.begin(), encoder.end());
  }
  check_tokens(batch.tokens, shape.vocabulary);
  check_tokens(batch.encoder_tokens, shape.vocabulary);
}

}  // namespace tandem
