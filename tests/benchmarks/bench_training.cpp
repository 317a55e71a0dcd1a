// Speed of the CPU executor: a model's steps on one rank, 4 sequences of 512 tokens in fp32, by kind of task.
//   bench_training MODEL_FILE [--threads N] [--steps N] [--on-request] [--products]
// --on-request: one step for each line of input, until its end.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/lower/lower.h"
#include "exec/execute.h"
#include "exec/training/make_token_source.h"

namespace tandem {
namespace {

struct Options {
  std::string model;
  int threads = 1;
  std::int64_t steps = 5;
  bool on_request = false;
  bool products = false;  // each kind of product with its rate
};

enum class Kind : std::uint8_t { Product, Attention, CrossEntropy, Optimizer, Norm, Activation, Rest, Count };
constexpr std::int64_t warm_up = 2;  // steps
constexpr std::size_t kinds = static_cast<std::size_t>(Kind::Count);
constexpr std::array<const char*, kinds> kind_names = {"products", "attention",  "cross entropy", "optimizer",
                                                       "norms",    "activation", "rest"};

Kind kind_of(const Work& work) {
  const auto* compute = std::get_if<Compute>(&work);
  if (!compute) return Kind::Rest;
  if (std::holds_alternative<MatrixProduct>(compute->kernel)) return Kind::Product;
  if (std::holds_alternative<FusedAttention>(compute->kernel)) return Kind::Attention;
  switch (std::get<MemoryPass>(compute->kernel).kind) {
    case PassKind::CrossEntropy:
      return Kind::CrossEntropy;
    case PassKind::Optimizer:
      return Kind::Optimizer;
    case PassKind::Norm:
      return Kind::Norm;
    case PassKind::Activation:
      return Kind::Activation;
    default:
      return Kind::Rest;
  }
}

double seconds(const CommunicationTimes& times) { return static_cast<double>(times.end - times.start) * 1e-9; }

// Of this process: user and system time, and pages that were first touched.
struct Usage {
  double cpu_s = 0;
  long page_faults = 0;
};
Usage usage() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {of(u.ru_utime) + of(u.ru_stime), u.ru_minflt};
}

struct Step {
  double wall_s = 0, cpu_s = 0, loss = 0;
  long page_faults = 0;
  std::array<double, kinds> by_kind{};
};

// "attention.qkv input gradient" for the tasks of all layers.
std::string product_name(const RankState& state, const Task& task) {
  const Subject& subject = state.setup().graph.subjects[task.label];
  return fmt::format("{} {}", state.model()[subject.op].name, name(task.phase));
}

struct ProductTime {
  double seconds = 0, flops = 0;
};

// What a run ends with when nobody asks for another step.
struct EndOfInput {};

class Watch {
 public:
  explicit Watch(bool on_request) : on_request_(on_request) {}

  // Called after each step; what lies between two calls is a step, with all that the runtime does around tasks.
  void look(const RankState& state, const RankProgram& program) {
    const Nanoseconds time = now();
    const Usage used = usage();
    if (calls_++ >= warm_up) {
      Step step{.wall_s = static_cast<double>(time - since_) * 1e-9,
                .cpu_s = used.cpu_s - used_.cpu_s,
                .loss = state.loss,
                .page_faults = used.page_faults - used_.page_faults};
      add_tasks(state, program, step);
      steps_.push_back(step);
      fmt::print("step {:.4f} s, processor {:.4f} s, loss {:.4f}, page faults {}\n", step.wall_s, step.cpu_s,
                 step.loss, step.page_faults);
    } else if (calls_ == warm_up) {
      fmt::print("{} tasks a step, arena {:.2f} GB\n", state.program().tasks.size(),
                 static_cast<double>(state.arena_bytes()) * 1e-9);
    }
    std::fflush(stdout);
    std::string line;
    if (on_request_ && calls_ >= warm_up && !std::getline(std::cin, line)) throw EndOfInput();
    used_ = usage();
    since_ = now();
  }
  const std::vector<Step>& steps() const { return steps_; }
  const std::map<std::string, ProductTime>& products() const { return products_; }

 private:
  void add_tasks(const RankState& state, const RankProgram& program, Step& step) {
    const std::vector<Task>& tasks = state.program().tasks;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      if (tasks[t].lane != Lane::Compute) continue;
      const Work& work = state.setup().graph.works[tasks[t].work];
      const Kind kind = kind_of(work);
      step.by_kind[static_cast<std::size_t>(kind)] += seconds(program.times()[t]);
      if (kind != Kind::Product) continue;
      ProductTime& product = products_[product_name(state, tasks[t])];
      product.seconds += seconds(program.times()[t]);
      product.flops += std::get<Compute>(work).flops.value;
    }
  }

  const bool on_request_;
  std::int64_t calls_ = 0;
  Nanoseconds since_ = 0;
  Usage used_;
  std::vector<Step> steps_;
  std::map<std::string, ProductTime> products_;  // sums over steps
};

PlanSpec one_rank() {
  PlanSpec plan;
  plan.dtype = DType::Fp32;
  plan.seq_length = 512;
  plan.micro_batch_size = plan.global_batch_size = 4;
  plan.data_parallel_size = 1;
  plan.gradient_clipping = false;  // as in the PyTorch loop beside it
  return plan;
}

Watch run(const Options& options) {
  ModelSpec spec = read_model(options.model);
  spec.hidden_dropout = spec.attention_dropout = false;
  const ModelGraph model = build_model(spec);
  const Plan plan = resolve_plan(one_rank(), spec, model, {1, 1});
  const TaskGraph graph = lower(model, plan);
  const std::unique_ptr<TokenSource> tokens = make_token_source(model, plan, {});
  const RunSetup setup{spec, model, plan, graph, *tokens, {}, 1};
  Watch watch(options.on_request);
  ExecuteOptions execution;
  execution.steps = options.on_request ? std::numeric_limits<std::int64_t>::max() : warm_up + options.steps;
  execution.threads_per_rank = options.threads;
  execution.after_rank_step = [&](RankState& state, const RankProgram& program) { watch.look(state, program); };
  try {
    execute_threads(setup, execution);
  } catch (const EndOfInput&) {
  }
  return watch;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
template <class F>
double median_of(const std::vector<Step>& steps, const F& f) {
  std::vector<double> values;
  for (const Step& step : steps) values.push_back(f(step));
  return median(std::move(values));
}

// Medians by kind of task, and products on request.
void print(const Options& options, const Watch& watch) {
  const std::vector<Step>& steps = watch.steps();
  if (steps.empty()) return;
  double known = 0;
  for (std::size_t k = 0; k < kinds; ++k) {
    const double time = median_of(steps, [k](const Step& step) { return step.by_kind[k]; });
    known += time;
    fmt::print("  {:14} {:.4f} s\n", kind_names[k], time);
  }
  const double wall = median_of(steps, [](const Step& step) { return step.wall_s; });
  fmt::print("  {:14} {:.4f} s\n", "between tasks", wall - known);
  if (!options.products) return;
  for (const auto& [name, product] : watch.products())
    fmt::print("  {:40} {:.4f} s a step, {:.0f} GF/s\n", name,
               product.seconds / static_cast<double>(watch.steps().size()),
               product.flops / product.seconds * 1e-9);
}

std::optional<Options> read_options(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return std::nullopt;
  Options options{.model = arguments[0]};
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--products") {
      options.products = true;
    } else if (arguments[i] == "--on-request") {
      options.on_request = true;
    } else if (i + 1 < arguments.size() && arguments[i] == "--threads") {
      options.threads = std::atoi(arguments[++i].c_str());
    } else if (i + 1 < arguments.size() && arguments[i] == "--steps") {
      options.steps = std::atoll(arguments[++i].c_str());
    } else {
      return std::nullopt;
    }
  }
  return options.threads > 0 && options.steps > 0 ? std::optional(options) : std::nullopt;
}

}  // namespace
}  // namespace tandem

int main(int count, char** values) try {
  const std::optional<tandem::Options> options = tandem::read_options({values + 1, values + count});
  if (!options) {
    fmt::print(stderr,
               "usage: bench_training MODEL_FILE [--threads N] [--steps N] [--on-request] [--products]\n");
    return 2;
  }
  tandem::print(*options, tandem::run(*options));
  return 0;
} catch (const std::exception& failure) {
  fmt::print(stderr, "bench_training: {}\n", failure.what());
  return 3;
}
