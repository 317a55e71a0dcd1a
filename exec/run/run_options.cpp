// Options of `tandem run`, read and held against one another.
#include "exec/run/run_options.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "core/scenario/value.h"

namespace tandem {
namespace {

class Reader {
 public:
  explicit Reader(const Arguments& arguments) : arguments_(arguments) {}

  template <class T>
  void whole(const std::string& name, T& into, std::int64_t low, std::int64_t high) {
    try {
      if (const auto number = arguments_.number(name, low, high)) into = static_cast<T>(*number);
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) problems_.add(problem);
    }
  }

  void number(const std::string& name, double& into) {
    if (!arguments_.has(name)) return;
    const std::string typed = arguments_.value(name);
    double value = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
    if (error == std::errc() && end == typed.data() + typed.size())
      into = value;
    else
      refuse(fmt::format("{} {}: a number is wanted", name, text(KeyValue{typed})));
  }

  void needs(const std::string& name, const std::string& other) {
    if (arguments_.has(name) && !arguments_.has(other))
      refuse(fmt::format("{} has no effect without {}", name, other));
  }
  void excludes(const std::string& name, const std::string& other) {
    if (arguments_.has(name) && arguments_.has(other))
      refuse(fmt::format("{} and {} contradict each other", name, other));
  }
  void refuse(std::string what, std::string hint = {}) { problems_.add({}, std::move(what), std::move(hint)); }
  Problems& problems() { return problems_; }

 private:
  const Arguments& arguments_;
  Problems problems_;
};

void read_optimizer(const Arguments& arguments, Reader& reader, OptimizerOptions& into) {
  LearningRate& rate = into.learning_rate;
  reader.number("--lr", rate.lr);
  reader.number("--min-lr", rate.min_lr);
  reader.whole("--lr-warmup-iters", rate.lr_warmup_iters, 0, 1'000'000'000);
  reader.whole("--lr-decay-iters", rate.lr_decay_iters, 0, 1'000'000'000);
  if (const std::string style = arguments.value("--lr-decay-style"); !style.empty())
    rate.lr_decay_style = style == "constant" ? DecayStyle::Constant
                          : style == "linear" ? DecayStyle::Linear
                                              : DecayStyle::Cosine;
  reader.number("--adam-beta1", into.adam_beta1);
  reader.number("--adam-beta2", into.adam_beta2);
  reader.number("--adam-eps", into.adam_eps);
  reader.number("--sgd-momentum", into.sgd_momentum);
  reader.number("--weight-decay", into.weight_decay);
  reader.number("--clip-grad", into.clip_grad);
  for (const Problem& problem : check_optimizer(into)) reader.problems().add(problem);
  reader.needs("--lr-decay-style", "--lr-decay-iters");
  reader.needs("--min-lr", "--lr-decay-iters");
}

void read_checkpoints(Reader& reader, const Arguments& arguments, RunOptions& into) {
  into.checkpoints = arguments.value("--checkpoint");
  reader.whole("--checkpoint-every", into.checkpoint_every, 1, 1'000'000'000);
  reader.whole("--keep", into.keep, 1, 1'000'000);
  into.resume = arguments.has("--resume");
  reader.whole("--restarts", into.restarts, 0, 1'000);
  for (const char* name : {"--checkpoint-every", "--keep", "--resume", "--restarts"})
    reader.needs(name, "--checkpoint");
}

// "config on cpu-core:2" -> "config-on-cpu-core-2".
std::string file_name(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  return name;
}

}  // namespace

RunOptions run_options(const Arguments& arguments, const std::string& scenario_name) {
  Reader reader(arguments);
  RunOptions options;
  reader.whole("--steps", options.steps, 1, 1'000'000'000);
  options.warmup = std::min<std::int64_t>(options.warmup, options.steps - 1);
  reader.whole("--warmup", options.warmup, 0, 1'000'000'000);
  if (options.warmup >= options.steps)
    reader.refuse(fmt::format("--warmup {} leaves none of {} steps to measure", options.warmup, options.steps));
  options.record = arguments.value("--output");
  if (options.record.empty()) options.record = file_name(scenario_name) + "-run.tandem";
  reader.whole("--seed", options.seed, 0, INT64_MAX);
  options.data = arguments.value("--data");
  read_optimizer(arguments, reader, options.optimizer);
  options.balance_experts = arguments.has("--moe-router-force-load-balancing");
  options.mpi = arguments.has("--mpi");
  reader.excludes("--mpi", "--threads");
  reader.whole("--threads-per-rank", options.threads_per_rank, 1, 4096);
  const std::string bind = arguments.value("--bind-cores");
  options.bind_cores = bind == "always"  ? BindCores::Always
                       : bind == "never" ? BindCores::Never
                                         : BindCores::Auto;
  if (const std::string pace = arguments.value("--pace"); !pace.empty()) {
    options.pace = parse_pace(pace);
    if (!options.pace)
      reader.refuse(fmt::format("--pace {}: a bandwidth and a delay are wanted", text(KeyValue{pace})),
                    "as 10GB/s,5us");
  }
  if (const std::string algorithm = arguments.value("--algorithm"); !algorithm.empty())
    options.algorithm = algorithm == "tree"               ? Algorithm::Tree
                        : algorithm == "halving-doubling" ? Algorithm::HalvingDoubling
                        : algorithm == "hierarchical"     ? Algorithm::Hierarchical
                                                          : Algorithm::Ring;
  read_checkpoints(reader, arguments, options);
  reader.number("--hang-timeout", options.hang_timeout);
  if (options.hang_timeout <= 0) reader.refuse("--hang-timeout must be above 0 s");
  options.json = arguments.has("--json");
  options.quiet = arguments.has("--quiet");
  reader.problems().throw_if_any();
  return options;
}

}  // namespace tandem
