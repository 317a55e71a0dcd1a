// Shapes, flops and nominal bytes of every operator's kernels.
#include "core/lower/kernels.h"

#include <optional>

#include "core/problem/problem.h"

namespace tandem {

Compute memory_pass(PassKind kind, Phase phase, double elements, double bytes_per_element, int launches) {
  Compute compute;
  compute.kernel = MemoryPass{kind, elements, Bytes(elements * bytes_per_element)};
  compute.phase = phase;
  compute.launches = launches;
  return compute;
}

Compute piece_of(const Compute& whole, std::int64_t pieces) {
  Compute piece = whole;
  const double share = 1 / static_cast<double>(pieces);
  piece.flops *= share;
  piece.model_flops *= share;
  if (auto* product = std::get_if<MatrixProduct>(&piece.kernel))
    product->m = (product->m + pieces - 1) / pieces;
  if (auto* pass = std::get_if<MemoryPass>(&piece.kernel)) {
    pass->elements *= share;
    pass->bytes *= share;
  }
  return piece;
}

namespace {

Compute product(Phase phase, MatrixProduct shape) {
  Compute compute;
  compute.phase = phase;
  compute.flops = Flops(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                        static_cast<double>(shape.k) * static_cast<double>(shape.batch));
  compute.model_flops = compute.flops;
  compute.kernel = shape;
  return compute;
}

// What one operator does on one rank; visited by kind.
class KernelMaker {
 public:
  KernelMaker(const Operator& op, const Shard& shard)
      : op_(op), shard_(shard), rows_(shard.kernel_rows(op)), e_(shard.element_bytes()) {}

  struct Product {
    std::int64_t m, n, k, batch;
    bool grouped;
    DType dtype;
  };
  // The operator as y (m x n) = x (m x k) w, if it is a product.
  std::optional<Product> as_product() const {
    if (const auto* linear = std::get_if<Linear>(&op_.kind)) {
      const std::int64_t in = op_.split == Split::Row ? linear->in / shard_.tp() : linear->in;
      // Logits stay out of fp8, as in every published recipe.
      const DType dtype = op_.split == Split::Vocabulary ? shard_.tensor_dtype() : shard_.product_dtype();
      return Product{rows_, shard_.local_width(op_, linear->out), in, 1, false, dtype};
    }
    if (const auto* expert = std::get_if<ExpertLinear>(&op_.kind)) {
      const std::int64_t local = expert->experts / shard_.ep();
      const bool down = op_.name.ends_with("down");  // the second product is split along its input
      return Product{(rows_ + local - 1) / local,
                     down ? expert->out : expert->out / shard_.etp(),
                     down ? expert->in / shard_.etp() : expert->in,
                     local,
                     true,
                     shard_.product_dtype()};
    }
    if (const auto* router = std::get_if<Router>(&op_.kind)) {
      return Product{rows_, router->experts, router->width, 1, false, shard_.tensor_dtype()};
    }
    return std::nullopt;
  }

  double elements(std::int64_t width) const {
    return static_cast<double>(rows_) * static_cast<double>(shard_.local_width(op_, width));
  }

  // Element-wise forward traffic in reads and writes of activations, e_ bytes each.
  std::vector<Kernel> forward(Phase phase) const {
    std::vector<Kernel> kernels;
    const auto pass = [&](PassKind kind, double elements, double bytes, int launches = 1,
                          Part part = Part::Main) {
      kernels.push_back({part, memory_pass(kind, phase, elements, bytes, launches)});
    };
    if (const auto p = as_product()) {
      if (p->dtype == DType::Fp8)
        cast(kernels, phase, static_cast<double>(p->m * p->batch) * static_cast<double>(p->k));
      kernels.push_back({Part::Main, product(phase, {p->m, p->n, p->k, p->batch, p->dtype, e_, p->grouped})});
    }
    if (const auto* table = std::get_if<Embedding>(&op_.kind)) {
      // Read a row, write it; position and type tables are added to what is there (one more read). Out-of-shard
      // tokens of a split table are masked before and after (Megatron's VocabParallelEmbedding).
      pass(PassKind::Embedding, elements(table->width), (op_.name.ends_with("word") ? 2 : 3) * e_,
           op_.split == Split::Vocabulary && shard_.tp() > 1 ? 4 : 1);
    } else if (const auto* norm = std::get_if<Normalization>(&op_.kind)) {
      pass(PassKind::Norm, elements(norm->width), 2 * e_);
    } else if (const auto* rotary = std::get_if<Rotary>(&op_.kind)) {
      if (rotary->width > 0) pass(PassKind::Rotary, elements(rotary->width), 2 * e_);
    } else if (const auto* activation = std::get_if<Activation>(&op_.kind)) {
      pass(PassKind::Activation, elements(activation->width), (activation->gated ? 3 : 2) * e_);
    } else if (const auto* expert = std::get_if<ExpertActivation>(&op_.kind)) {
      pass(PassKind::Activation, elements(expert->width), (expert->gated ? 3 : 2) * e_);
    } else if (const auto* residual = std::get_if<Residual>(&op_.kind)) {
      pass(PassKind::Residual, elements(residual->width), 3 * e_ + (residual->dropout ? 1 : 0));
    } else if (const auto* router = std::get_if<Router>(&op_.kind)) {
      // Softmax and top-k over the experts' scores in fp32.
      pass(PassKind::Router, static_cast<double>(rows_) * static_cast<double>(router->experts), 12, 3,
           Part::Choose);
    } else if (const auto* dispatch = std::get_if<Dispatch>(&op_.kind)) {
      pass(PassKind::Permute,
           static_cast<double>(rows_ * dispatch->top_k) * static_cast<double>(dispatch->width), 2 * e_);
    } else if (const auto* combine = std::get_if<Combine>(&op_.kind)) {
      // Read top_k rows a token, write one.
      const double width = static_cast<double>(combine->width) * static_cast<double>(rows_);
      pass(PassKind::Permute, width * static_cast<double>(combine->top_k),
           e_ * (1 + 1 / static_cast<double>(combine->top_k)));
    } else if (const auto* scale = std::get_if<Scale>(&op_.kind)) {
      pass(PassKind::Scale, elements(scale->width), 3 * e_);
    } else if (const auto* loss = std::get_if<CrossEntropy>(&op_.kind)) {
      // Logits to fp32, maximum, exponentials, sum: 16 bytes a logit forward and backward together (run-model
      // study).
      pass(PassKind::CrossEntropy, elements(loss->vocabulary), 4 * e_, 6);
    }
    return kernels;
  }

  std::vector<Kernel> input_gradient() const {
    std::vector<Kernel> kernels;
    const Phase phase = Phase::InputGradient;
    const auto pass = [&](PassKind kind, double elements, double bytes, int launches = 1,
                          Part part = Part::Main) {
      kernels.push_back({part, memory_pass(kind, phase, elements, bytes, launches)});
    };
    if (const auto* router = std::get_if<Router>(&op_.kind)) {
      pass(PassKind::Router, static_cast<double>(rows_) * static_cast<double>(router->experts), 12, 3,
           Part::Choose);
    }
    if (const auto p = as_product()) {
      if (p->dtype == DType::Fp8)
        cast(kernels, phase, static_cast<double>(p->m * p->batch) * static_cast<double>(p->n));
      kernels.push_back({Part::Main, product(phase, {p->m, p->k, p->n, p->batch, p->dtype, e_, p->grouped})});
    }
    if (const auto* norm = std::get_if<Normalization>(&op_.kind)) {
      // Read the gradient and the input, write the input's gradient; the weight's partial sums come along.
      pass(PassKind::Norm, elements(norm->width), 3 * e_, 2);
    } else if (const auto* rotary = std::get_if<Rotary>(&op_.kind)) {
      if (rotary->width > 0) pass(PassKind::Rotary, elements(rotary->width), 2 * e_);
    } else if (const auto* activation = std::get_if<Activation>(&op_.kind)) {
      pass(PassKind::Activation, elements(activation->width), (activation->gated ? 5 : 3) * e_);
    } else if (const auto* expert = std::get_if<ExpertActivation>(&op_.kind)) {
      pass(PassKind::Activation, elements(expert->width), (expert->gated ? 5 : 3) * e_);
    } else if (const auto* residual = std::get_if<Residual>(&op_.kind)) {
      // Without dropout the gradient passes through as it is.
      if (residual->dropout) pass(PassKind::Residual, elements(residual->width), 2 * e_ + 1);
    } else if (const auto* dispatch = std::get_if<Dispatch>(&op_.kind)) {
      pass(PassKind::Permute,
           static_cast<double>(rows_ * dispatch->top_k) * static_cast<double>(dispatch->width), 2 * e_);
    } else if (const auto* combine = std::get_if<Combine>(&op_.kind)) {
      // The rows' gradients and, for the router, their products with the rows.
      pass(PassKind::Permute, static_cast<double>(rows_ * combine->top_k) * static_cast<double>(combine->width),
           3 * e_, 2);
    } else if (const auto* scale = std::get_if<Scale>(&op_.kind)) {
      pass(PassKind::Scale, elements(scale->width), 5 * e_);
    } else if (const auto* loss = std::get_if<CrossEntropy>(&op_.kind)) {
      pass(PassKind::CrossEntropy, elements(loss->vocabulary), 4 * e_, 2);
    }
    return kernels;
  }

  std::vector<Kernel> weight_gradient() const {
    std::vector<Kernel> kernels;
    const Phase phase = Phase::WeightGradient;
    if (const auto p = as_product()) {
      // Accumulated into the main gradient: read and write of its format (Megatron's gradient accumulation
      // fusion).
      const PlanSpec& spec = shard_.plan().spec;
      const double accumulate = 2 * bytes_per_element(spec.main_grads_dtype);
      const double written = spec.gradient_accumulation_fusion ? accumulate : e_;
      kernels.push_back(
          {Part::Main, product(phase, {p->n, p->k, p->m, p->batch, p->dtype, written, p->grouped})});
      if (!spec.gradient_accumulation_fusion) {
        const double weights = static_cast<double>(p->n * p->k) * static_cast<double>(p->batch);
        kernels.push_back(
            {Part::Accumulate, memory_pass(PassKind::Accumulate, phase, weights, e_ + accumulate)});
      }
      for (const Parameter& parameter : op_.parameters) {
        if (parameter.name != "bias") continue;
        kernels.push_back(
            {Part::Bias, memory_pass(PassKind::Accumulate, phase,
                                     static_cast<double>(p->m * p->batch) * static_cast<double>(p->n), e_)});
      }
    } else if (const auto* table = std::get_if<Embedding>(&op_.kind)) {
      // Read the gradient, add it to the rows of an fp32 table.
      kernels.push_back({Part::Main, memory_pass(PassKind::Embedding, phase, elements(table->width), e_ + 8)});
    }
    return kernels;
  }

 private:
  // To fp8: read a tensor, write it and its transpose for the other products (3.3 bytes an element of every
  // product's input fitted over published runs; cost study, section "FP8 cast traffic").
  static void cast(std::vector<Kernel>& kernels, Phase phase, double elements) {
    kernels.push_back({Part::Cast, memory_pass(PassKind::Cast, phase, elements, 3.3)});
  }

  const Operator& op_;
  const Shard& shard_;
  std::int64_t rows_;
  double e_;
};

}  // namespace

std::vector<Kernel> forward_kernels(const Operator& op, const Shard& shard, Phase phase) {
  check(phase == Phase::Forward || phase == Phase::Recompute, "a forward phase");
  return KernelMaker(op, shard).forward(phase);
}
std::vector<Kernel> input_gradient_kernels(const Operator& op, const Shard& shard) {
  return KernelMaker(op, shard).input_gradient();
}
std::vector<Kernel> weight_gradient_kernels(const Operator& op, const Shard& shard) {
  return KernelMaker(op, shard).weight_gradient();
}

}  // namespace tandem
