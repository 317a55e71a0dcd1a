// The token source that a model and a plan call for: a file's bytes, or a made chain that fits the model.
#pragma once
#include <memory>
#include <string>

#include "core/plan/plan.h"
#include "exec/training/token_source.h"

namespace tandem {

struct DataOptions {
  std::string file = {};  // "": sequences are made
  std::uint64_t seed = 0;
  int order = 1;  // of the made chain
};

// Leaves out the token that hides others where the model learns by masks, and makes the encoder's tokens matter
// where there is an encoder. InputError as the sources', and for a model without a vocabulary.
std::unique_ptr<TokenSource> make_token_source(const ModelGraph&, const Plan&, const DataOptions&);

}  // namespace tandem
