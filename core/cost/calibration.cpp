// Look-ups in a calibration.
#include "core/cost/calibration.h"

#include <algorithm>
#include <array>

namespace tandem {

double interpolate(const SizeTable& table, double size) {
  if (table.empty()) return 0;
  if (size <= table.front().first) return table.front().second;
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (size > table[i].first) continue;
    const auto [x0, y0] = table[i - 1];
    const auto [x1, y1] = table[i];
    return y0 + (y1 - y0) * (size - x0) / (x1 - x0);
  }
  return table.back().second;
}

const GemmRow* Calibration::find_gemm(std::string_view device, DType dtype) const {
  for (const GemmRow& row : gemm)
    if (row.device == device && std::find(row.dtypes.begin(), row.dtypes.end(), dtype) != row.dtypes.end())
      return &row;
  return nullptr;
}

const MemoryRow* Calibration::find_memory(std::string_view device) const {
  const auto row =
      std::find_if(memory.begin(), memory.end(), [&](const MemoryRow& r) { return r.device == device; });
  return row == memory.end() ? nullptr : &*row;
}

bool Calibration::has_attention(std::string_view device) const {
  return std::any_of(attention.begin(), attention.end(),
                     [&](const AttentionRow& r) { return r.device == device; });
}

const LinkRow* Calibration::find_link(std::string_view link, int node_devices) const {
  const LinkRow* any = nullptr;
  for (const LinkRow& row : links) {
    if (row.link != link) continue;
    if (row.node_devices == node_devices) return &row;
    if (row.node_devices == 0) any = &row;
  }
  return any;
}

const NetworkRow* Calibration::find_network(std::string_view network) const {
  const auto row =
      std::find_if(networks.begin(), networks.end(), [&](const NetworkRow& r) { return r.network == network; });
  return row == networks.end() ? nullptr : &*row;
}

const CoresRow* Calibration::find_cores(std::string_view device) const {
  const auto row =
      std::find_if(cores.begin(), cores.end(), [&](const CoresRow& r) { return r.device == device; });
  return row == cores.end() ? nullptr : &*row;
}

const ProfileRow* Calibration::find_profile(std::string_view device, const MeasuredKind& kind) const {
  const auto row = std::find_if(profile.begin(), profile.end(),
                                [&](const ProfileRow& r) { return r.kind == kind && r.device == device; });
  return row == profile.end() ? nullptr : &*row;
}

std::string_view name(PassKind kind) {
  constexpr std::array<std::string_view, 15> names = {
      "norm",      "activation",    "residual",      "rotary",     "softmax",
      "embedding", "cross_entropy", "router",        "permute",    "cast",
      "scale",     "optimizer",     "gradient_norm", "accumulate", "copy"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace tandem
