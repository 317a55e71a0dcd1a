// Names of number formats: our own, PyTorch's and those of configuration files.
#include "core/units/dtype.h"

#include <array>
#include <utility>

namespace tandem {

std::optional<DType> parse_dtype(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, DType>, 17> names{{
      {"fp32", DType::Fp32},
      {"float32", DType::Fp32},
      {"float", DType::Fp32},
      {"bf16", DType::Bf16},
      {"bfloat16", DType::Bf16},
      {"fp16", DType::Fp16},
      {"float16", DType::Fp16},
      {"half", DType::Fp16},
      {"fp8", DType::Fp8},
      {"float8", DType::Fp8},
      {"float8_e4m3fn", DType::Fp8},
      {"float8_e4m3fnuz", DType::Fp8},
      {"float8_e5m2", DType::Fp8},
      {"float8_e5m2fnuz", DType::Fp8},
      {"float8_e4m3", DType::Fp8},
      {"e4m3", DType::Fp8},
      {"e5m2", DType::Fp8},
  }};
  constexpr std::string_view prefix = "torch.";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  for (const auto& [name, dtype] : names) {
    if (name == text) return dtype;
  }
  return std::nullopt;
}

}  // namespace tandem
