// The key table: every key has an effect, a flag and a help text; what it writes it reads.
#include "core/scenario/keys.h"

#include <set>

#include "tests/core/scenario/scenario_support.h"

namespace tandem {
namespace {

// A value other than the default that the key takes.
KeyValue another_value(const Key& key, const Scenario& before) {
  switch (key.kind) {
    case KeyKind::Integer:
      return {std::int64_t{key.name == "zero_stage" ? 3 : 7}};
    case KeyKind::Real:
      return {0.25 + (key.name == "tokens_total" ? 1e9 : 0)};
    case KeyKind::Switch:
      return {key.get(before) != "true"};
    case KeyKind::Choice:
      for (const std::string& choice : key.choices)
        if (quoted(choice) != key.get(before)) return {choice};
      return {};
    case KeyKind::Text:
      if (key.name == "pipeline_model_parallel_layout") return {std::string("Et*2|t*2L")};
      return {std::string(key.name == "rank_order" ? "tp-cp-ep-pp-dp" : "other")};
    case KeyKind::Quantity:
      return {key.unit};
    case KeyKind::IntegerList:
      return {KeyValue::List{{std::int64_t{1}}, {std::int64_t{0}}}};
    case KeyKind::ChoiceList:
      return {KeyValue::List{{key.choices.back()}}};
  }
  return {};
}

// Everything that the keys can change, as text.
std::string state(const Scenario& scenario) {
  std::string all;
  for (const Key& key : scenario_keys()) all += key.name + "=" + key.get(scenario) + "\n";
  const PipelineShorthand& said = scenario.shorthand;
  return all + std::to_string(said.layers_per_virtual_stage) + " " + std::to_string(said.first_stage_layers) +
         " " + std::to_string(said.last_stage_layers) + " " + said.layout;
}

TEST(KeyTable, EveryKeyChangesTheScenario) {
  for (const Key& key : scenario_keys()) {
    Scenario scenario;
    const std::string before = state(scenario);
    EXPECT_EQ(key.set(scenario, another_value(key, scenario)), "") << key.name;
    EXPECT_NE(state(scenario), before) << key.name << " is accepted and ignored";
  }
}
TEST(KeyTable, EveryKeyRefusesATable) {
  for (const Key& key : scenario_keys()) {
    Scenario scenario;
    const std::string before = state(scenario);
    EXPECT_NE(key.set(scenario, KeyValue{}), "") << key.name;
    EXPECT_EQ(state(scenario), before) << key.name;
  }
}
TEST(KeyTable, CanonicalLiteralsReadBack) {
  for (const Key& key : scenario_keys()) {
    Scenario scenario, again;
    key.set(scenario, another_value(key, scenario));
    const std::string literal = key.get(scenario);
    if (literal.empty()) continue;  // shorthand, resolved into other keys
    EXPECT_EQ(
        key.set(again, value_from_text(
                           key, literal.find("[\"") == 0 ? literal.substr(2, literal.size() - 4) : literal)),
        "")
        << key.name << " = " << literal;
    EXPECT_EQ(key.get(again), literal) << key.name;
  }
}
TEST(KeyTable, NamesAreDistinctAndExplained) {
  std::set<std::string> names;
  for (const Key& key : scenario_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    if (!key.alias.empty()) {
      EXPECT_TRUE(names.insert(key.alias).second) << key.alias;
    }
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_EQ(find_key(flag_of(key).substr(2)), &key);
  }
}
TEST(KeyTable, FlagsAreMegatronCoresNames) {
  for (const char* name :
       {"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size",
        "expert-model-parallel-size", "micro-batch-size", "global-batch-size", "seq-length",
        "recompute-granularity", "recompute-method", "recompute-num-layers", "sequence-parallel",
        "overlap-grad-reduce", "overlap-param-gather", "gradient-accumulation-fusion", "tp-comm-overlap",
        "zero-stage", "dtype", "schedule"})
    EXPECT_NE(find_key(name), nullptr) << name;
}

}  // namespace
}  // namespace tandem
