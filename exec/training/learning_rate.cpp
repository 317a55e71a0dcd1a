// The schedule of Megatron-LM's optimizer_param_scheduler.
#include "exec/training/learning_rate.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace tandem {

double LearningRate::at(std::int64_t step) const {
  const auto done = static_cast<double>(step + 1);
  const auto warmup = static_cast<double>(lr_warmup_iters), decay = static_cast<double>(lr_decay_iters);
  if (done <= warmup) return lr * done / warmup;
  if (lr_decay_style == DecayStyle::Constant || lr_decay_iters == 0) return lr;
  if (done > decay) return min_lr;
  const double ratio = (done - warmup) / (decay - warmup);
  const double share =
      lr_decay_style == DecayStyle::Linear ? 1 - ratio : (std::cos(std::numbers::pi * ratio) + 1) / 2;
  return min_lr + share * (lr - min_lr);
}

std::vector<Problem> check_optimizer(const OptimizerOptions& options) {
  Problems problems;
  const auto want = [&](bool holds, const char* key, double value, const char* range) {
    if (!holds) problems.add({}, fmt::format("{} = {}", key, value), fmt::format("use {}", range));
  };
  const LearningRate& rate = options.learning_rate;
  want(rate.lr > 0 && std::isfinite(rate.lr), "lr", rate.lr, "a positive number, as in 3e-4");
  want(rate.min_lr >= 0 && rate.min_lr <= rate.lr, "min_lr", rate.min_lr, "a number from 0 to lr");
  want(rate.lr_warmup_iters >= 0, "lr_warmup_iters", static_cast<double>(rate.lr_warmup_iters),
       "0 or more steps");
  want(rate.lr_decay_iters == 0 || rate.lr_decay_iters > rate.lr_warmup_iters, "lr_decay_iters",
       static_cast<double>(rate.lr_decay_iters), "more steps than lr_warmup_iters");
  const auto share = [](double value) { return value >= 0 && value < 1; };
  want(share(options.adam_beta1), "adam_beta1", options.adam_beta1, "a number from 0 to below 1");
  want(share(options.adam_beta2), "adam_beta2", options.adam_beta2, "a number from 0 to below 1");
  want(options.adam_eps > 0, "adam_eps", options.adam_eps, "a positive number, as in 1e-8");
  want(share(options.sgd_momentum), "sgd_momentum", options.sgd_momentum, "a number from 0 to below 1");
  want(options.weight_decay >= 0 && std::isfinite(options.weight_decay), "weight_decay", options.weight_decay,
       "0 or more");
  want(options.clip_grad >= 0 && std::isfinite(options.clip_grad), "clip_grad", options.clip_grad,
       "0 (no clipping) or more");
  return problems.list();
}

bool decays(const ParameterShard& shard) { return !shard.vector; }

}  // namespace tandem
