// The constants of a calibration that hold for one device kind, fallbacks resolved and named.
#pragma once
#include <array>
#include <optional>

#include "core/cluster/hardware.h"
#include "core/cost/attention.h"
#include "core/cost/gemm.h"

namespace tandem {

// A value and how it was found, for explain(): the row's source, and the fallback where the device has no row.
template <class Constants>
struct Resolved {
  Constants value{};
  std::string origin;
};

class DeviceCosts {
 public:
  // Keeps pointers into `calibration`, which must outlive it. Throws InputError for a kind without a peak rate
  // or memory bandwidth.
  DeviceCosts(const Calibration& calibration, const FrameworkProfile& framework, const DeviceKind& kind);

  const Resolved<GemmDevice>& gemm(DType dtype, bool grouped) const {
    return gemm_[static_cast<std::size_t>(dtype)][grouped ? 1 : 0];
  }
  Resolved<AttentionDevice> attention(const FusedAttention&) const;
  // start + bytes * traffic / (beta * memory bandwidth)
  Seconds memory_pass(const MemoryPass&) const;
  std::string explain(const MemoryPass&) const;

 private:
  Resolved<GemmDevice> resolve_gemm(DType dtype, bool grouped) const;
  const GemmRow& gemm_row(DType dtype, std::string& fallback) const;
  double beta(PassKind) const;
  double traffic(PassKind) const;

  const Calibration& calibration_;
  const FrameworkProfile& framework_;
  DeviceKind kind_;
  std::array<std::array<Resolved<GemmDevice>, 2>, 4> gemm_;
  const MemoryRow* memory_ = nullptr;
  std::string memory_fallback_;
  std::string attention_device_;  // whose rows are used; "" : scaled from A100
};

}  // namespace tandem
