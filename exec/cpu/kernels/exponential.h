// exp and what is made of it, inline so that loops over them become vector code. Relative error of exp: 2e-7.
#pragma once
#include <bit>
#include <cstdint>

namespace tandem::cpu {

// By value: a loop over std::max, which takes references, stays scalar code with GCC 12.
inline float larger(float a, float b) { return a > b ? a : b; }
inline float smaller(float a, float b) { return a < b ? a : b; }

// 2^(whole + part) with |part| <= 1/2: a polynomial for 2^part (least maximum of the relative error, 9e-8), the
// whole number added to its exponent. Exactly 0 below -80, so that no denormals arise, and finite above.
inline float exponential(float x) {
  constexpr float log2_e = 1.44269504f;
  constexpr float round_to_whole = 12582912.0f;  // 1.5 2^23: the fraction falls off the end of the mantissa
  const float limited = smaller(larger(x, -80.0f), 88.0f);
  const float power = limited * log2_e;
  const float shifted = power + round_to_whole;
  const float part = power - (shifted - round_to_whole);
  float p = 1.3264668e-3f;
  p = p * part + 9.6714581e-3f;
  p = p * part + 5.5507334e-2f;
  p = p * part + 2.4022243e-1f;
  p = p * part + 6.9314698e-1f;
  p = p * part + 1.0f;
  const float value =
      std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + (std::bit_cast<std::int32_t>(shifted) << 23));
  return x < -80.0f ? 0.0f : value;
}

inline float sigmoid(float x) { return 1 / (1 + exponential(-x)); }

}  // namespace tandem::cpu
