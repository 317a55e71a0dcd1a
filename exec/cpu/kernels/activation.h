// Activations of the MLP, plain and gated, and their derivatives.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"

namespace tandem::cpu {

enum class Activation : std::uint8_t {
  Gelu,  // its tanh form, as GPT-2 and Megatron's fused kernel have it
  Relu,
  Silu,
  Tanh
};

// x, y [count].
template <class T>
void activation_forward(Activation activation, std::int64_t count, const T* x, T* y);
// dx may be dy.
template <class T>
void activation_backward(Activation activation, std::int64_t count, const T* x, const T* dy, T* dx);

// Rows of x are [gate | up], 2 x width; y = activation(gate) up, [rows, width].
template <class T>
void gated_activation_forward(Activation activation, std::int64_t rows, std::int64_t width, const T* x, T* y);
template <class T>
void gated_activation_backward(Activation activation, std::int64_t rows, std::int64_t width, const T* x,
                               const T* dy, T* dx);

}  // namespace tandem::cpu
