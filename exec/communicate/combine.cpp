// Element by element sums, maxima and scaling; simple loops that the compiler vectorises.
#include <bit>

#include "core/problem/problem.h"
#include "exec/communicate/element_type.h"

namespace tandem {
namespace {

// Upper half of a float. Numbers that are not one keep a set mantissa bit, so that they do not round to
// infinity.
struct Bf16 {
  std::uint16_t bits;
};
float widen(Bf16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
Bf16 narrow(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return {static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded)};
}

template <class T>
T sum(T a, T b) {
  return a + b;
}
// Wraps around, as two's complement hardware does.
template <>
std::int32_t sum(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
template <>
Bf16 sum(Bf16 a, Bf16 b) {
  return narrow(widen(a) + widen(b));
}
template <class T>
T larger(T a, T b) {
  return a < b ? b : a;
}
template <>
Bf16 larger(Bf16 a, Bf16 b) {
  return widen(a) < widen(b) ? b : a;
}

template <class T>
void combine_as(Reduction reduction, std::byte* into, const std::byte* from, std::size_t bytes) {
  T* __restrict a = reinterpret_cast<T*>(into);
  const T* __restrict b = reinterpret_cast<const T*>(from);
  const std::size_t n = bytes / sizeof(T);
  if (reduction == Reduction::Sum)
    for (std::size_t i = 0; i < n; ++i) a[i] = sum(a[i], b[i]);
  else
    for (std::size_t i = 0; i < n; ++i) a[i] = larger(a[i], b[i]);
}

template <class T>
void scale_as(std::byte* data, std::size_t bytes, double factor) {
  T* x = reinterpret_cast<T*>(data);
  const T f = static_cast<T>(factor);
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) x[i] *= f;
}

}  // namespace

std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::Byte:
      return 1;
    case ElementType::Bf16:
      return 2;
    case ElementType::Int32:
    case ElementType::Float:
      return 4;
    case ElementType::Double:
      return 8;
  }
  return 1;
}

void combine(ElementType type, Reduction reduction, std::byte* into, const std::byte* from, std::size_t bytes) {
  switch (type) {
    case ElementType::Int32:
      return combine_as<std::int32_t>(reduction, into, from, bytes);
    case ElementType::Float:
      return combine_as<float>(reduction, into, from, bytes);
    case ElementType::Bf16:
      return combine_as<Bf16>(reduction, into, from, bytes);
    case ElementType::Double:
      return combine_as<double>(reduction, into, from, bytes);
    case ElementType::Byte:
      check(false, "bytes are no numbers to combine");
  }
}

void scale(ElementType type, std::byte* data, std::size_t bytes, double factor) {
  switch (type) {
    case ElementType::Float:
      return scale_as<float>(data, bytes, factor);
    case ElementType::Double:
      return scale_as<double>(data, bytes, factor);
    case ElementType::Bf16: {
      Bf16* x = reinterpret_cast<Bf16*>(data);
      const float f = static_cast<float>(factor);
      for (std::size_t i = 0; i < bytes / sizeof(Bf16); ++i) x[i] = narrow(widen(x[i]) * f);
      return;
    }
    case ElementType::Int32:
    case ElementType::Byte:
      check(false, "only floating-point elements are scaled");
  }
}

}  // namespace tandem
