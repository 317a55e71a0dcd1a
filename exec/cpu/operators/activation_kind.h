// The model's activations as the kernels name them.
#pragma once
#include "core/model/operator.h"
#include "exec/cpu/kernels/activation.h"

namespace tandem {

inline cpu::Activation kernel_activation(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::Gelu:
      return cpu::Activation::Gelu;
    case ActivationKind::Relu:
      return cpu::Activation::Relu;
    case ActivationKind::Silu:
      return cpu::Activation::Silu;
    case ActivationKind::Tanh:
      return cpu::Activation::Tanh;
  }
  return cpu::Activation::Gelu;
}

}  // namespace tandem
