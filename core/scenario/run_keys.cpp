// Keys of [training], [simulation] and [cost].
#include <cmath>
#include <limits>

#include "core/scenario/key_builders.h"

namespace tandem {
namespace {

using namespace key_builders;

std::optional<double> number_in(const KeyValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.is)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value.is); real != nullptr && std::isfinite(*real)) return *real;
  return std::nullopt;
}

Key in(Section section, Key key) {
  key.section = section;
  return key;
}

Key tokens_total() {
  Key key{.name = "tokens_total",
          .kind = KeyKind::Real,
          .unit = "tokens",
          .help = "tokens of the whole training run, for its days and its cost"};
  key.set = [](Scenario& scenario, const KeyValue& value) -> std::string {
    const auto number = number_in(value);
    if (!number || *number < 1 || *number > 1e18)
      return "a number of tokens from 1 to 1e18 is wanted, as in 15e12";
    scenario.tokens_total = *number;
    return "";
  };
  key.get = [](const Scenario& scenario) { return scenario.tokens_total ? exact(*scenario.tokens_total) : ""; };
  return key;
}

Key jitter() {
  Key key{.name = "jitter",
          .kind = KeyKind::Real,
          .unit = "share",
          .help =
              "relative standard deviation of each computation's duration, drawn with the seed "
              "(default 0; of calibrated cores what was measured)"};
  key.set = [](Scenario& scenario, const KeyValue& value) -> std::string {
    const auto number = number_in(value);
    if (!number || *number < 0 || *number > 1) return "a share from 0 to 1 is wanted, as in 0.03";
    scenario.simulation.jitter = *number;
    return "";
  };
  key.get = [](const Scenario& scenario) {
    return scenario.simulation.jitter ? exact(*scenario.simulation.jitter) : "";
  };
  return key;
}

template <class Field>
Key word(std::string name, std::string unit, Field field, std::string help) {
  Key key{.name = name, .kind = KeyKind::Text, .unit = unit, .help = help};
  key.set = [field](Scenario& scenario, const KeyValue& value) -> std::string {
    const auto* typed = std::get_if<std::string>(&value.is);
    if (typed == nullptr || typed->empty() || typed->find('\0') != std::string::npos) return "a text is wanted";
    field(scenario) = *typed;
    return "";
  };
  key.get = [field](const Scenario& scenario) {
    const std::string& text = field(scenario);
    return text.empty() ? "" : quoted(text);
  };
  return key;
}

}  // namespace

std::vector<Key> run_keys() {
  return {
      in(Section::Training, tokens_total()),
      in(Section::Training,
         word(
             "framework", "name", [](auto& s) -> auto& { return s.framework; },
             "profile of the training framework: its host time and fusion (default megatron)")),
      in(Section::Simulation,
         choice<PlayLevel>(
             {"fidelity", ""},
             {{"estimate", PlayLevel::Estimate},
              {"fused", PlayLevel::Fused},
              {"folded", PlayLevel::Folded},
              {"replicas", PlayLevel::Replicas},
              {"full", PlayLevel::Full}},
             [](auto& s) -> auto& { return s.simulation.fidelity; },
             "how the step is played: without contention, folded by symmetry (default), or every device")),
      in(Section::Simulation,
         integer(
             {"seed", ""}, [](auto& s) -> auto& { return s.simulation.seed; },
             {0, std::numeric_limits<std::int64_t>::max()}, "number", "start of the random draws for jitter")),
      in(Section::Simulation, jitter()),
      in(Section::Cost, word(
                            "calibration", "folder", [](auto& s) -> auto& { return s.calibration; },
                            "folder of fitted constants (default: the shipped ones)")),
  };
}

}  // namespace tandem
