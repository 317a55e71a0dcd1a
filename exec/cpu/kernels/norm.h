// Layer norm and RMS norm over the rows of a tensor. Statistics are formed again in backward: nothing is kept.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"
#include "exec/cpu/kernels/scratch.h"

namespace tandem::cpu {

enum class Norm : std::uint8_t {
  Layer,  // (x - mean) / sqrt(variance + epsilon)
  Rms     // x / sqrt(mean of squares + epsilon)
};
struct NormShape {
  Norm norm = Norm::Layer;
  std::int64_t rows = 0, width = 0;
  float epsilon = 1e-5f;
};

// x, y [rows, width]; weight, bias [width]; bias may be null.
template <class T>
void norm_forward(const NormShape& shape, const T* x, const T* weight, const T* bias, T* y);
// dx [rows, width], written or added to; dweight, dbias [width] +=; dbias may be null.
template <class T>
void norm_backward(const NormShape& shape, const T* x, const T* weight, const T* dy, Write write, T* dx,
                   float* dweight, float* dbias, Scratch& scratch);

}  // namespace tandem::cpu
