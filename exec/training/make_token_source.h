// The token source that a model and a plan call for: a file's bytes, or made sequences that the model can
// learn.
#pragma once
#include <memory>
#include <string>

#include "core/plan/plan.h"
#include "exec/training/token_source.h"

namespace tandem {

struct DataOptions {
  std::string file = {};  // "": sequences are made
  std::uint64_t seed = 0;
  int order = 1;  // of the made chain: 1, or 2, which takes longer to learn
};

// Made sequences are Markov chains, and topics for models that learn from masked tokens (which leave out the
// token that hides others). Where there is an encoder, its tokens matter. InputError as the sources', and for a
// model without a vocabulary.
std::unique_ptr<TokenSource> make_token_source(const ModelGraph&, const Plan&, const DataOptions&);

}  // namespace tandem
