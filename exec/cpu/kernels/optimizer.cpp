// AdamW and SGD in one pass, and sums of squares.
#include "exec/cpu/kernels/optimizer.h"

#include <cmath>

#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

// f(i) gives the new master weight, which is stored once, and once more as bf16 where a working copy is kept.
template <class F>
void update(std::int64_t count, float* master, Bf16* working, const F& f) {
  for_chunks(count, 1, [=](int, std::int64_t begin, std::int64_t end) {
    if (working) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        const float weight = f(i);
        master[i] = weight;
        working[i] = rounded<Bf16>(weight);
      }
    } else {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) master[i] = f(i);
    }
  });
}

double squares(const float* x, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace

void adamw(const AdamW& options, std::int64_t count, const float* gradient, float* master, float* exp_avg,
           float* exp_avg_sq, Bf16* working) {
  const double step = static_cast<double>(options.step);
  const float beta1 = options.beta1, beta2 = options.beta2, epsilon = options.epsilon;
  const float correction1 = static_cast<float>(1 - std::pow(static_cast<double>(beta1), step));
  const float correction2 = static_cast<float>(1 / std::sqrt(1 - std::pow(static_cast<double>(beta2), step)));
  const float rate = options.learning_rate / correction1;
  const float keep = 1 - options.learning_rate * options.weight_decay, clip = options.gradient_scale;
  update(count, master, working, [=](std::int64_t i) {
    const float g = gradient[i] * clip;
    const float m = beta1 * exp_avg[i] + (1 - beta1) * g, v = beta2 * exp_avg_sq[i] + (1 - beta2) * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    return master[i] * keep - rate * m / (std::sqrt(v) * correction2 + epsilon);
  });
}

void sgd(const Sgd& options, std::int64_t count, const float* gradient, float* master, float* velocity,
         Bf16* working) {
  const Sgd o = options;
  update(count, master, working, [=](std::int64_t i) {
    const float v = o.momentum * velocity[i] + gradient[i] * o.gradient_scale + o.weight_decay * master[i];
    velocity[i] = v;
    return master[i] - o.learning_rate * v;
  });
}

double sum_of_squares(std::int64_t count, const float* x) {
  double partials[chunk_count] = {};
  double* partial = partials;
  for_chunks(count, 1, [=](int chunk, std::int64_t begin, std::int64_t end) {
    partial[chunk] = squares(x + begin, end - begin);
  });
  double sum = 0;
  for (const double part : partials) sum += part;
  return sum;
}

}  // namespace tandem::cpu
