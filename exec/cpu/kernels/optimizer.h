// Updates of a range of parameters in one pass over memory, and the norm that gradients are clipped by.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"

namespace tandem::cpu {

// Decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2).
struct AdamW {
  float learning_rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0;
  std::int64_t step = 1;     // from 1
  float gradient_scale = 1;  // clipping, and the mean over what gradients were summed over
};
// All [count] in fp32; `working`, the bf16 copy that products read, may be null.
void adamw(const AdamW& options, std::int64_t count, const float* gradient, float* master, float* exp_avg,
           float* exp_avg_sq, Bf16* working);

// v = momentum v + g + weight_decay w; w -= learning_rate v.
struct Sgd {
  float learning_rate = 1e-3f, momentum = 0, weight_decay = 0;
  float gradient_scale = 1;
};
void sgd(const Sgd& options, std::int64_t count, const float* gradient, float* master, float* velocity,
         Bf16* working);

// In fp64.
double sum_of_squares(std::int64_t count, const float* x);

}  // namespace tandem::cpu
