// Megatron's other ways to say how layers are split over stages: resolved into pipeline_layers and vpp.
#include "core/scenario/shorthand.h"

#include <fmt/format.h>

#include <cctype>

namespace tandem {
namespace {

constexpr std::size_t most_symbols = 1'000'000;

// Repeats: "x*3" a symbol, "(tt|)*2" a group.
struct LayoutText {
  const std::string& text;
  std::size_t at = 0;
  bool good = true;

  std::string expand(bool inside, int depth) {
    std::string out;
    while (at < text.size() && good) {
      const char c = text[at];
      if (c == ')') {
        if (!inside) good = false;
        return out;
      }
      std::string piece;
      if (c == '(') {
        ++at;
        if (depth > 20) good = false;
        piece = good ? expand(true, depth + 1) : "";
        if (at >= text.size() || text[at] != ')') good = false;
        ++at;
      } else if (c == ' ' || c == ',') {
        ++at;
        continue;
      } else {
        piece = c;
        ++at;
      }
      std::size_t times = 1;
      if (at < text.size() && text[at] == '*') {
        times = 0;
        ++at;
        while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0 &&
               times < most_symbols)
          times = times * 10 + static_cast<std::size_t>(text[at++] - '0');
        if (times == 0) good = false;
      }
      if (out.size() + times * piece.size() > most_symbols) good = false;
      for (std::size_t i = 0; i < times && good; ++i) out += piece;
    }
    if (inside && at >= text.size()) good = false;
    return out;
  }
};

}  // namespace

std::optional<std::vector<std::int64_t>> layers_of_layout(const std::string& layout) {
  LayoutText reader{layout};
  const std::string symbols = reader.expand(false, 0);
  if (!reader.good || symbols.empty()) return std::nullopt;
  std::vector<std::int64_t> layers{0};
  std::size_t embeddings = 0, losses = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const char c = symbols[i];
    if (c == '|')
      layers.push_back(0);
    else if (c == 't')
      ++layers.back();
    else if (c == 'E' && i == 0)
      ++embeddings;
    else if (c == 'L')
      ++losses;
    else
      return std::nullopt;
  }
  // Embedding first, loss last: other places are not modelled.
  if (embeddings > 1 || losses > 1 || (losses == 1 && symbols.back() != 'L')) return std::nullopt;
  return layers;
}

void resolve_shorthand(Scenario& scenario, Problems& problems) {
  const PipelineShorthand& said = scenario.shorthand;
  PlanSpec& plan = scenario.plan;
  const auto where = [&](const char* key) { return plan.where_of(key); };
  const auto refuse_both = [&](const char* key, const char* other, bool other_given) {
    if (other_given)
      problems.add(where(key), fmt::format("{} and {} are both given", key, other), "keep one of them");
  };
  const std::int64_t layers = scenario.model.num_hidden_layers + scenario.model.encoder_layers;
  const std::int64_t pp = plan.pipeline_model_parallel_size;
  if (said.layers_per_virtual_stage > 0) {
    constexpr const char* key = "num_layers_per_virtual_pipeline_stage";
    refuse_both(key, "virtual_pipeline_model_parallel_size", plan.virtual_pipeline_model_parallel_size > 0);
    if (layers % pp != 0 || layers / pp % said.layers_per_virtual_stage != 0)
      problems.add(where(key),
                   fmt::format("{} = {} does not divide the {} layers of a stage ({} layers, pp = {})", key,
                               said.layers_per_virtual_stage, layers / pp, layers, pp));
    else
      plan.virtual_pipeline_model_parallel_size = layers / pp / said.layers_per_virtual_stage;
  }
  if (!said.layout.empty()) {
    constexpr const char* key = "pipeline_model_parallel_layout";
    refuse_both(key, "pipeline_layers", !plan.pipeline_layers.empty());
    const auto chunks = layers_of_layout(said.layout);
    if (!chunks) {
      problems.add(
          where(key), fmt::format("{} = {} is not understood", key, text(KeyValue{said.layout})),
          "as in Et*3|(tt|)*5tttL: E embedding, t a layer, L loss, | between chunks, *N and (…)*N repeat");
    } else if (static_cast<std::int64_t>(chunks->size()) % pp != 0) {
      problems.add(where(key), fmt::format("{} has {} chunks, which {} stages cannot share evenly", key,
                                           chunks->size(), pp));
    } else {
      plan.pipeline_layers = *chunks;
      const std::int64_t vpp = static_cast<std::int64_t>(chunks->size()) / pp;
      if (plan.virtual_pipeline_model_parallel_size > 0 && plan.virtual_pipeline_model_parallel_size != vpp)
        problems.add(where(key),
                     fmt::format("{} has {} chunks a stage, virtual_pipeline_model_parallel_size = {}", key,
                                 vpp, plan.virtual_pipeline_model_parallel_size));
      else if (vpp > 1)
        plan.virtual_pipeline_model_parallel_size = vpp;
    }
  }
  if (said.first_stage_layers > 0 || said.last_stage_layers > 0) {
    const char* key = said.first_stage_layers > 0 ? "num_layers_in_first_pipeline_stage"
                                                  : "num_layers_in_last_pipeline_stage";
    refuse_both(key, "pipeline_layers", !plan.pipeline_layers.empty());
    refuse_both(key, "virtual_pipeline_model_parallel_size", plan.virtual_pipeline_model_parallel_size > 1);
    const std::int64_t ends = (said.first_stage_layers > 0 ? 1 : 0) + (said.last_stage_layers > 0 ? 1 : 0);
    const std::int64_t left = layers - said.first_stage_layers - said.last_stage_layers, stages = pp - ends;
    if (stages < 1 || left < stages || left % stages != 0) {
      problems.add(where(key),
                   fmt::format("{} layers are left for {} stages between: they do not divide", left, stages));
      return;
    }
    std::vector<std::int64_t> split(static_cast<std::size_t>(pp), left / stages);
    if (said.first_stage_layers > 0) split.front() = said.first_stage_layers;
    if (said.last_stage_layers > 0) split.back() = said.last_stage_layers;
    plan.pipeline_layers = split;
  }
}

}  // namespace tandem
