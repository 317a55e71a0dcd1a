// Sizes of a source from the batches that will read it.
#include "exec/training/make_token_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/problem/problem.h"
#include "exec/training/batch.h"
#include "exec/training/byte_source.h"
#include "exec/training/markov_source.h"
#include "exec/training/topic_source.h"

namespace tandem {

std::unique_ptr<TokenSource> make_token_source(const ModelGraph& model, const Plan& plan,
                                               const DataOptions& options) {
  const BatchShape shape = batch_shape(model, plan, RankId(0));
  if (shape.vocabulary == 0)
    refuse({}, fmt::format("{} has no vocabulary, and only models of tokens are trained", model.name()));
  const std::int64_t vocabulary = source_vocabulary(shape.vocabulary, objective(model));
  if (!options.file.empty())
    return std::make_unique<ByteSource>(options.file, options.seed, vocabulary,
                                        shape.encoder_length + shape.length + 1);
  if (objective(model) == Objective::MaskedTokens)
    return std::make_unique<TopicSource>(
        TopicOptions{.seed = options.seed,
                     .vocabulary = vocabulary,
                     .topics = static_cast<int>(std::clamp<std::int64_t>(vocabulary / 8, 1, 8))});
  return std::make_unique<MarkovSource>(MarkovOptions{.seed = options.seed,
                                                      .vocabulary = vocabulary,
                                                      .symbols = options.order == 1 ? 64 : 16,
                                                      .order = options.order,
                                                      .dialects = model.has_encoder() ? 2 : 1});
}

}  // namespace tandem
