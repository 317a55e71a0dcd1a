// exp and what is made of it, inline so that loops over them become vector code. Relative error of exp: 2e-7.
#pragma once
#include <bit>
#include <cstdint>

namespace tandem::cpu {

// By value: a loop over std::max, which takes references, stays scalar code with GCC 12. Of a NaN, `a` is
// given.
inline float larger(float a, float b) { return a < b ? b : a; }

// For x up to 88: 2^(whole + part) with |part| <= 1/2, a polynomial for 2^part (least maximum of the relative
// error, 9e-8) and the whole number added to its exponent. Exactly 0 below -80, so that no denormals arise.
inline float exponential(float x) {
  constexpr float log2_e = 1.44269504f;
  constexpr float round_to_whole = 12582912.0f;  // 1.5 2^23: the fraction falls off the end of the mantissa
  const float power = larger(x, -80.0f) * log2_e;
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

// Through the exponential of -|x|, which cannot overflow.
inline float sigmoid(float x) {
  const float small = exponential(x < 0 ? x : -x);
  return (x < 0 ? small : 1.0f) / (1 + small);
}

}  // namespace tandem::cpu
