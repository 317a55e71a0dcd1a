// Backward bodies of a chunk: operators in reverse, recomputation where it is due, gradients and the memory
// they take.
#include <algorithm>

#include "core/lower/chunk.h"
#include "core/lower/gradient_writer.h"

namespace tandem {
namespace {

void write_all(const ChunkContext& context, BodyWriter& writer, GradientWriter& gradients) {
  for (std::uint32_t o = context.last.value + 1; o-- > context.first.value;) {
    const LayerId layer = context.model[OperatorId(o)].layer;
    if (OperatorId(o) == context.model[layer].last) writer.body().layer_uses.push_back({writer.size(), layer});
    gradients.write(OperatorId(o));
  }
  gradients.hand_back();
  gradients.finish();
  std::erase_if(writer.body().layer_uses, [&](const Body::LayerUse& use) { return use.task >= writer.size(); });
}

}  // namespace

Body lower_backward(const ChunkContext& context, const Retention& retention, const KeptIndex& kept) {
  Body body;
  BodyWriter writer(body, context.interner);
  GradientWriter gradients(context, retention, kept, writer, BackwardMode::Both);
  write_all(context, writer, gradients);
  return body;
}

SplitBackward lower_split_backward(const ChunkContext& context, const Retention& retention,
                                   const KeptIndex& kept) {
  SplitBackward result;
  BodyWriter input_writer(result.input_gradient, context.interner);
  GradientWriter inputs(context, retention, kept, input_writer, BackwardMode::InputGradient);
  write_all(context, input_writer, inputs);
  BodyWriter weight_writer(result.weight_gradient, context.interner);
  GradientWriter weights(context, retention, kept, weight_writer, BackwardMode::WeightGradient);
  weights.continue_from(inputs);
  write_all(context, weight_writer, weights);
  return result;
}

}  // namespace tandem
