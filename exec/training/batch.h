// The tokens of one microbatch on one rank, and which share of the global batch they are.
#pragma once
#include <cstdint>
#include <vector>

#include "core/plan/plan.h"
#include "exec/training/token_source.h"

namespace tandem {

// What a model learns from a sequence.
enum class Objective : std::uint8_t {
  NextToken,     // each token from those before it
  MaskedTokens,  // BERT (arXiv 1810.04805): 15 % of the tokens, hidden by the vocabulary's last id, from all
                 // others
};
Objective objective(const ModelGraph&);  // MaskedTokens when a decoder's attention is not causal

// A rank's share of a step. Sample i of microbatch m on data-parallel place d is sample (m dp + d) mbs + i of
// the global batch (Megatron's order), so that the same samples make up a step under every plan.
struct BatchShape {
  std::int64_t sequences = 1;                   // a microbatch
  std::int64_t length = 0, encoder_length = 0;  // of whole sequences; 0: no encoder
  std::int64_t microbatches = 1;
  std::int64_t data_place = 0, data_ranks = 1;
  std::int64_t context_place = 0, context_ranks = 1;
  // Causal ring attention: of 2 cp chunks, place i has chunk i and chunk 2 cp - 1 - i, so that all ranks see
  // equally many pairs. Otherwise, and in the encoder, shares are contiguous.
  bool zigzag = false;
  std::int64_t vocabulary = 0;

  std::int64_t local_length() const { return length / context_ranks; }
  std::int64_t local_encoder_length() const { return encoder_length / context_ranks; }
};
BatchShape batch_shape(const ModelGraph&, const Plan&, RankId);

// Positions in the whole sequence of this rank's tokens of one sequence, in local order.
std::vector<std::int32_t> local_positions(const BatchShape&, Sequence = Sequence::Main);

// Rows are sequences x local length, sequence by sequence.
struct Batch {
  std::vector<std::int32_t> tokens, targets, positions;  // a target of -1: no loss
  std::vector<std::int32_t> encoder_tokens, encoder_positions;
};

// Targets that count in one whole sequence, the same number in each: losses are divided by this x global batch.
std::int64_t targets_per_sequence(const BatchShape&, Objective);

// Best expected loss in nats a target, where the source knows it.
std::optional<double> entropy_floor(const BatchShape&, const TokenSource&, Objective);

// Tokens that a source may use: all but the one that hides others.
std::int64_t source_vocabulary(std::int64_t vocabulary, Objective);

void fill_batch(Batch&, const BatchShape&, const TokenSource&, Objective, std::int64_t step,
                std::int64_t microbatch);

}  // namespace tandem
