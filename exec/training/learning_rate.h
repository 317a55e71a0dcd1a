// Learning rate by step, and the optimizer's constants, under Megatron's names and defaults.
#pragma once
#include <cstdint>
#include <vector>

#include "core/problem/problem.h"
#include "exec/training/parameter_shard.h"

namespace tandem {

enum class DecayStyle : std::uint8_t { Constant, Linear, Cosine };

struct LearningRate {
  double lr = 1e-3, min_lr = 0;
  std::int64_t lr_warmup_iters = 0;  // from 0 up in a straight line
  std::int64_t lr_decay_iters = 0;   // step at which min_lr is reached; 0: never, and the style is constant
  DecayStyle lr_decay_style = DecayStyle::Cosine;

  // Of update `step`, counted from 0. Update 0 takes the schedule's first step up, so that it is not lost.
  double at(std::int64_t step) const;
};

struct OptimizerOptions {
  LearningRate learning_rate;
  double adam_beta1 = 0.9, adam_beta2 = 0.999, adam_eps = 1e-8;
  double sgd_momentum = 0.9;
  double weight_decay = 0.01;  // decoupled (AdamW)
  double clip_grad = 1.0;      // largest global norm of the gradients; 0: no clipping
};
std::vector<Problem> check_optimizer(const OptimizerOptions&);

// Norms and biases are not decayed.
bool decays(const ParameterShard&);

}  // namespace tandem
