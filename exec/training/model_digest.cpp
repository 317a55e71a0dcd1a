// Prints what an operator computes, and takes the checksum of the text.
#include "exec/training/model_digest.h"

#include <fmt/format.h>

#include <span>
#include <string>

#include "exec/training/checksum.h"

namespace tandem {
namespace {

// Sizes that parameters do not show (heads, windows) and choices (masks, activations).
struct KindText {
  std::string operator()(const Embedding& o) const { return fmt::format("embedding {} {}", o.rows, o.width); }
  std::string operator()(const Linear& o) const { return fmt::format("linear {} {}", o.in, o.out); }
  std::string operator()(const Normalization& o) const {
    return fmt::format("norm {} {}", static_cast<int>(o.kind), o.width);
  }
  std::string operator()(const Rotary& o) const { return fmt::format("rotary {}", o.width); }
  std::string operator()(const Attention& o) const {
    return fmt::format("attention {} {} {} {} {} {} {}", o.heads, o.kv_heads, o.qk_head_dim, o.v_head_dim,
                       static_cast<int>(o.mask), o.window, o.cross);
  }
  std::string operator()(const Activation& o) const {
    return fmt::format("activation {} {} {}", static_cast<int>(o.kind), o.width, o.gated);
  }
  std::string operator()(const Residual& o) const { return fmt::format("residual {}", o.width); }
  std::string operator()(const Router& o) const { return fmt::format("router {} {}", o.experts, o.top_k); }
  std::string operator()(const Dispatch&) const { return "dispatch"; }
  std::string operator()(const ExpertLinear& o) const {
    return fmt::format("expert linear {} {} {}", o.experts, o.in, o.out);
  }
  std::string operator()(const ExpertActivation& o) const {
    return fmt::format("expert activation {} {} {}", static_cast<int>(o.kind), o.width, o.gated);
  }
  std::string operator()(const Combine&) const { return "combine"; }
  std::string operator()(const Scale& o) const { return fmt::format("scale {}", o.width); }
  std::string operator()(const CrossEntropy& o) const { return fmt::format("cross entropy {}", o.vocabulary); }
};

}  // namespace

std::uint64_t model_digest(const ModelGraph& model) {
  std::string all;
  for (std::uint32_t o = 0; o < model.size(); ++o) {
    const Operator& op = model[OperatorId(o)];
    all += fmt::format("{} {} {} {}", model[op.layer].name, op.name, std::visit(KindText{}, op.kind), op.tied);
    for (const Parameter& parameter : op.parameters)
      all += fmt::format(" {} {}", parameter.name, parameter.count);
    all += '\n';
  }
  return checksum(std::as_bytes(std::span(all)));
}

}  // namespace tandem
