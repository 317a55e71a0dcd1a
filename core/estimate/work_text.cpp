// Works as text.
#include "core/estimate/work_text.h"

#include <fmt/format.h>

#include "core/cost/calibration.h"
#include "core/units/text.h"

namespace tandem {
namespace {

struct KernelText {
  std::string operator()(const MatrixProduct& product) const {
    const std::string sizes = fmt::format("{}x{}x{}", product.m, product.n, product.k);
    const std::string batch = product.batch == 1 ? "" : fmt::format("{} x ", product.batch);
    return fmt::format("{} {}{} {}", product.grouped ? "grouped matmul" : "matmul", batch, sizes,
                       name(product.input));
  }
  std::string operator()(const FusedAttention& attention) const {
    std::string result = fmt::format("attention{} {} x {} heads", attention.backward ? " backward" : "",
                                     attention.batch, attention.heads);
    if (attention.kv_heads != attention.heads) result += fmt::format(" ({} kv)", attention.kv_heads);
    result += fmt::format(", {}x{}, dim {}", attention.q_length, attention.kv_length, attention.qk_head_dim);
    if (attention.v_head_dim != attention.qk_head_dim) result += fmt::format("/{}", attention.v_head_dim);
    if (attention.mask == AttentionMask::Causal) result += ", causal";
    if (attention.window > 0) result += fmt::format(", window {}", attention.window);
    return result + fmt::format(" {}", name(attention.dtype));
  }
  std::string operator()(const MemoryPass& pass) const {
    return fmt::format("{} {}", name(pass.kind), text(pass.bytes));
  }
};

struct KernelBytes {
  Bytes operator()(const MatrixProduct& product) const {
    const auto m = static_cast<double>(product.m), n = static_cast<double>(product.n),
               k = static_cast<double>(product.k);
    return Bytes(static_cast<double>(product.batch) *
                 ((m * k + k * n) * bytes_per_element(product.input) + m * n * product.output_bytes));
  }
  Bytes operator()(const FusedAttention& attention) const {
    const auto q = static_cast<double>(attention.heads * attention.q_length),
               kv = static_cast<double>(attention.kv_heads * attention.kv_length);
    const auto width = static_cast<double>(attention.qk_head_dim + attention.v_head_dim);
    const double elements = static_cast<double>(attention.batch) * (q + kv) * width;
    return Bytes((attention.backward ? 2 : 1) * elements * bytes_per_element(attention.dtype));
  }
  Bytes operator()(const MemoryPass& pass) const { return pass.bytes; }
};

std::string peer(Axis axis, std::uint32_t place) {
  return axis == Axis::Pipeline ? fmt::format("stage {}", place)
                                : fmt::format("place {} of {}", place, name(axis));
}

}  // namespace

std::string work_text(const Compute& compute) {
  std::string result = std::visit(KernelText{}, compute.kernel);
  if (compute.launches > 1) result += fmt::format(", {} launches", compute.launches);
  return result;
}

std::string work_text(const Collective& collective, Algorithm algorithm, std::size_t members) {
  return fmt::format("{} {} {} over {} ({})", name(collective.kind), name(algorithm), text(collective.size),
                     members, name(collective.axis));
}
std::string work_text(const Send& send) {
  return fmt::format("send {} to {}", text(send.size), peer(send.axis, send.peer));
}
std::string work_text(const Receive& receive) {
  return fmt::format("receive {} from {}", text(receive.size), peer(receive.axis, receive.peer));
}
std::string work_text(const Copy& copy) {
  return fmt::format("copy {} {}", text(copy.size), copy.to_host ? "to host" : "from host");
}
std::string work_text(const WaitForInput& input) {
  return fmt::format("input {}, host {}", text(input.size), text(input.host));
}

Bytes compulsory_bytes(const Compute& compute) { return std::visit(KernelBytes{}, compute.kernel); }

}  // namespace tandem
