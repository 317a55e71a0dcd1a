// Number formats of tensors, by the names that users type.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

enum class DType : std::uint8_t { Fp32, Bf16, Fp16, Fp8 };

constexpr double bytes_per_element(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
      return 4;
    case DType::Bf16:
    case DType::Fp16:
      return 2;
    case DType::Fp8:
      return 1;
  }
  return 0;
}
constexpr std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::Fp32:
      return "fp32";
    case DType::Bf16:
      return "bf16";
    case DType::Fp16:
      return "fp16";
    case DType::Fp8:
      return "fp8";
  }
  return "?";
}
// Accepts our names and Hugging Face's (float32, bfloat16, float16, float8_e4m3fn …).
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace tandem
