// Number formats that communication can add up, and how they are combined.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem {

enum class ElementType : std::uint8_t { Byte, Int32, Float, Bf16, Double };
std::size_t size_of(ElementType);  // bytes an element

enum class Reduction : std::uint8_t { Sum, Max };

// into[i] = into[i] + from[i], or the larger one. Bf16 is added in fp32 and rounded to nearest even. Regions
// of `bytes` bytes that do not overlap, aligned to the element.
void combine(ElementType, Reduction, std::byte* into, const std::byte* from, std::size_t bytes);

// data[i] *= factor; not for Byte and Int32.
void scale(ElementType, std::byte* data, std::size_t bytes, double factor);

}  // namespace tandem
