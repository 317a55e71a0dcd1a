// The constants of a calibration that hold for one device kind, fallbacks resolved and named.
#include "core/cost/device_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/units/text.h"

namespace tandem {
namespace {

// The rate at which a device multiplies numbers of a format; what it lacks runs in a format that it has.
Resolved<ComputeRate> peak_rate(const DeviceKind& kind, DType dtype) {
  const auto rate = [&](DType d) -> ComputeRate {
    const auto found = kind.peak.find(d);
    return found == kind.peak.end() ? ComputeRate(0) : found->second;
  };
  if (dtype == DType::Fp32 && kind.tf32_peak) return {*kind.tf32_peak, "tf32"};
  if (rate(dtype).value > 0) return {rate(dtype), ""};
  // fp8 is stored, then multiplied in 16 bits; 16-bit formats stand in for each other on parts with one of
  // them.
  if (dtype == DType::Fp8 || dtype == DType::Fp16 || dtype == DType::Bf16) {
    for (DType other : {DType::Bf16, DType::Fp16}) {
      // V100 has fp16 but no bf16 units: bf16 runs at the fp32 rate.
      if (dtype == DType::Bf16 && other == DType::Fp16 && rate(DType::Fp32).value > 0) continue;
      if (rate(other).value > 0)
        return {rate(other), fmt::format("no {} units: {} rate", name(dtype), name(other))};
    }
    if (rate(DType::Fp32).value > 0)
      return {rate(DType::Fp32), fmt::format("no {} units: fp32 rate", name(dtype))};
  }
  // Matrix engines without fp32 emulate it with six bf16 products (XLA's highest precision).
  if (rate(DType::Bf16).value > 0) return {rate(DType::Bf16) / 6, "no fp32 units: six bf16 products"};
  if (rate(DType::Fp16).value > 0) return {rate(DType::Fp16) / 6, "no fp32 units: six fp16 products"};
  return {};
}

double size_distance(double a, double b) { return std::abs(std::log(a / b)); }

// An "A100-like" attention: share of the peak relative to what its matrix products reach.
constexpr std::string_view reference_device = "a100-sxm4-80gb";

}  // namespace

DeviceCosts::DeviceCosts(const Calibration& calibration, const FrameworkProfile& framework,
                         const DeviceKind& kind)
    : calibration_(calibration), framework_(framework), kind_(kind) {
  if (kind.memory_bandwidth.value <= 0)
    throw InputError({{},
                      fmt::format("device \"{}\" has no memory bandwidth", kind.id),
                      "set memory_bandwidth of the device"});
  if (peak_rate(kind, DType::Fp32).value.value <= 0)
    throw InputError({{},
                      fmt::format("device \"{}\" has no peak rate", kind.id),
                      "set a peak rate of the device, measured or from its data sheet"});
  for (DType dtype : {DType::Fp32, DType::Bf16, DType::Fp16, DType::Fp8})
    for (bool grouped : {false, true})
      gemm_[static_cast<std::size_t>(dtype)][grouped ? 1 : 0] = resolve_gemm(dtype, grouped);

  // A device without rows of its own takes those of the device that its matrix products resemble.
  std::string like = kind.id;
  std::string ignored;
  for (int step = 0; step < 8 && !like.empty(); ++step) {
    if (memory_ == nullptr && (memory_ = calibration.find_memory(like)) != nullptr && like != kind.id)
      memory_fallback_ = "fallback: as " + like + "; ";
    if (attention_device_.empty() && calibration.has_attention(like)) attention_device_ = like;
    const GemmRow* row = calibration.find_gemm(like, DType::Bf16);
    if (row == nullptr) row = calibration.find_gemm(like, DType::Fp16);
    if (row == nullptr && like == kind.id) row = &gemm_row(DType::Bf16, ignored);
    if (row == nullptr) break;
    like = row->device != like ? row->device : row->from.like.substr(0, row->from.like.find(' '));
  }
  if (memory_ == nullptr) {
    memory_ = calibration.find_memory("*");
    memory_fallback_ = "fallback: no measured device resembles it; ";
  }
}

// The device's row; else its row for another format; else the vendor's nearest part by peak rate; else the
// common row.
const GemmRow& DeviceCosts::gemm_row(DType dtype, std::string& fallback) const {
  if (const GemmRow* own = calibration_.find_gemm(kind_.id, dtype)) return *own;
  for (DType other : {DType::Bf16, DType::Fp16, DType::Fp32, DType::Fp8})
    if (const GemmRow* own = calibration_.find_gemm(kind_.id, other)) {
      fallback = fmt::format("fallback: no {} data, as {}; ", name(dtype), name(other));
      return *own;
    }
  fallback = "fallback: device not measured; ";
  return *calibration_.find_gemm("*", DType::Bf16);
}

Resolved<GemmDevice> DeviceCosts::resolve_gemm(DType dtype, bool grouped) const {
  Resolved<GemmDevice> out;
  const GemmRow& row = gemm_row(dtype, out.origin);
  const Resolved<ComputeRate> peak = peak_rate(kind_, dtype);
  GemmDevice& d = out.value;
  d.peak = peak.value;
  d.memory = kind_.memory_bandwidth;
  d.units = kind_.compute_units > 0 ? kind_.compute_units : std::max(row.units, 1);
  d.eta = calibration_.environment.clock == Clock::Boost ? row.eta_boost : row.eta;
  d.beta = row.beta;
  d.start = row.start;
  d.depth = row.depth;
  d.feed = row.feed;
  d.misaligned = row.misaligned;
  if (row.device == "*" && kind_.achievable_bf16 && dtype == DType::Bf16) {
    d.eta = std::min(1.0, 0.93 * (*kind_.achievable_bf16 / peak.value));
    out.origin = "fallback: 0.93 of the device's best measured product; ";
  }
  if (grouped) {
    d.eta *= row.grouped_eta;
    if (row.grouped_beta > 0) d.beta = row.grouped_beta;
  }
  if (!peak.origin.empty()) out.origin += peak.origin + "; ";
  out.origin += row.from.source;
  return out;
}

Resolved<AttentionDevice> DeviceCosts::attention(const FusedAttention& work) const {
  const DType dtype = work.dtype == DType::Fp8 ? DType::Bf16 : work.dtype;  // flash kernels work in 16 bits
  Resolved<AttentionDevice> out;
  out.value = {.peak = gemm(dtype, false).value.peak,
               .memory = kind_.memory_bandwidth,
               .beta = beta(PassKind::Softmax),
               .share = 0,
               .law = calibration_.attention_law};
  const std::string device = attention_device_.empty() ? std::string(reference_device) : attention_device_;
  const double head = static_cast<double>(std::max<std::int64_t>(1, work.qk_head_dim));
  // The framework's first kernel that the device has; of its head sizes, the nearest.
  const AttentionRow* best = nullptr;
  auto rank = [&](const AttentionRow& row) {
    const auto& order = framework_.attention;
    return std::find(order.begin(), order.end(), row.kernel) - order.begin();
  };
  for (const AttentionRow& row : calibration_.attention) {
    if (row.device != device) continue;
    const bool better =
        best == nullptr || rank(row) < rank(*best) ||
        (rank(row) == rank(*best) && size_distance(row.head_dim, head) < size_distance(best->head_dim, head));
    if (better) best = &row;
  }
  if (best == nullptr) best = &calibration_.attention.front();
  out.value.share = work.backward ? best->backward : best->forward;
  if (attention_device_.empty()) {
    const GemmRow* reference = calibration_.find_gemm(reference_device, DType::Bf16);
    const double ratio = reference == nullptr ? 1 : gemm(dtype, false).value.eta / reference->eta;
    out.value.share = std::min(1.0, out.value.share * ratio);
    out.origin =
        fmt::format("fallback: as {}, times the ratio of matrix products {:.3g}; ", reference_device, ratio);
  } else if (attention_device_ != kind_.id) {
    out.origin = "fallback: as " + attention_device_ + "; ";
  }
  out.origin += fmt::format("{} at head size {}: {}", best->kernel, best->head_dim, best->from.source);
  return out;
}

double DeviceCosts::beta(PassKind kind) const {
  const auto own = memory_->beta_of.find(kind);
  return own == memory_->beta_of.end() ? memory_->beta : own->second;
}
double DeviceCosts::traffic(PassKind kind) const {
  const auto factor = framework_.traffic.find(kind);
  return factor == framework_.traffic.end() ? 1 : factor->second;
}

Seconds DeviceCosts::memory_pass(const MemoryPass& pass) const {
  return memory_->start + pass.bytes * traffic(pass.kind) / (kind_.memory_bandwidth * beta(pass.kind));
}

std::string DeviceCosts::explain(const MemoryPass& pass) const {
  return fmt::format("{} pass: start {} + {} x {:.3g} / ({:.3g} of {}); {}{}", name(pass.kind),
                     text(memory_->start), text(pass.bytes), traffic(pass.kind), beta(pass.kind),
                     text(kind_.memory_bandwidth), memory_fallback_, memory_->from.source);
}

}  // namespace tandem
