// Megatron-LM's flags and launch scripts as people paste them.
#include <set>

#include "core/scenario/keys.h"
#include "core/scenario/megatron_flags.h"
#include "core/scenario/shell_snippet.h"
#include "core/scenario/shorthand.h"
#include "tests/core/scenario/scenario_support.h"

namespace tandem {
namespace {

std::string words(const std::string& script) {
  Problems problems;
  std::string all;
  for (const Word& word : arguments_of_snippet(script, "run.sh", problems))
    all += (all.empty() ? "" : " ") + word.text;
  for (const Problem& problem : problems.list()) all += "!" + text(problem);
  return all;
}

TEST(ShellSnippet, ReadsPlainFlagsOverContinuedLines) {
  EXPECT_EQ(words("--tp 8 \\\n  --pp 4 # stages\n"), "--tp 8 --pp 4");
}
TEST(ShellSnippet, ExpandsArraysAndVariables) {
  EXPECT_EQ(words("#!/bin/bash\nTP=${TP:-8}\nPP=4\nMODEL_ARGS=(\n  --tensor-model-parallel-size $TP # comment\n"
                  "  --bf16\n)\nMODEL_ARGS+=(--lr 1e-4)\n"
                  "torchrun --nproc-per-node 8 pretrain_gpt.py \"${MODEL_ARGS[@]}\" "
                  "--pipeline-model-parallel-size ${PP}\n"),
            "--nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --bf16 --lr 1e-4 "
            "--pipeline-model-parallel-size 4");
}
TEST(ShellSnippet, ArraysAloneAreEnough) {
  EXPECT_EQ(words("A=(--tp 2)\nB=( --pp \"3\" --data-path 'a b' )\n"), "--tp 2 --pp 3 --data-path a b");
}
TEST(ShellSnippet, ScalarsSplitIntoWords) {
  EXPECT_EQ(words("ARGS=\"--tp 2 --pp 4\"\npython x.py $ARGS\n"), "--tp 2 --pp 4");
}
TEST(ShellSnippet, RedirectionsAndPipesAreNoArguments) {
  EXPECT_EQ(words("python a.py --tp 2 > log 2>&1\npython b.py --pp 4 2>&1 | tee log\n"), "--tp 2 --pp 4");
}
TEST(ShellSnippet, UnendedQuotesAndArraysAreProblems) {
  EXPECT_EQ(words("A=(--tp 2\n").find("!run.sh:1: the array A=( … never ends") != std::string::npos, true);
  EXPECT_NE(words("x --tp \"2\n").find("a quote (\") never ends"), std::string::npos);
}
TEST(ShellSnippet, SelfReferringArraysEnd) {
  EXPECT_NE(words("A=(--a b)\n" +
                  [] {
                    std::string s;
                    for (int i = 0; i < 60; ++i) s += "A=($A $A)\n";
                    return s;
                  }())
                .find("more than 100000 words"),
            std::string::npos);
}

TEST(MegatronFlags, EachIsListedOnce) {
  std::set<std::string> names;
  for (const MegatronFlag& flag : megatron_flags()) EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
}
TEST(MegatronFlags, ThoseWithEffectSetAKeyThatTakesTheValue) {
  for (const MegatronFlag& flag : megatron_flags()) {
    if (flag.effect != MegatronEffect::Key) continue;
    const Key* key = find_key(flag.key);
    ASSERT_NE(key, nullptr) << flag.name;
    for (const auto& [typed, meaning] : flag.meaning) {
      Scenario scenario;
      const std::string value = meaning.empty() ? "4" : meaning;
      EXPECT_EQ(key->set(scenario, value_from_text(*key, value)), "") << flag.name << " " << typed;
    }
  }
}

std::map<std::string, Word> shape(std::initializer_list<std::pair<const char*, const char*>> flags) {
  std::map<std::string, Word> map;
  for (const auto& [name, value] : flags) map[name] = {value, {}};
  return map;
}
ModelSpec built(const std::map<std::string, Word>& flags) {
  Problems problems;
  const auto config = config_from_flags(flags, problems);
  problems.throw_if_any();
  return parse_model(config.value(), "flags", "flags");
}

TEST(MegatronModel, DefaultsToAGpt) {
  const ModelSpec spec = built(shape({{"--num-layers", "24"},
                                      {"--hidden-size", "1024"},
                                      {"--num-attention-heads", "16"},
                                      {"--vocab-size", "50257"},
                                      {"--max-position-embeddings", "2048"}}));
  EXPECT_EQ(spec.model_type, "gpt2");
  EXPECT_EQ(spec.intermediate_size, 4096);
  EXPECT_TRUE(spec.tie_word_embeddings);
  EXPECT_TRUE(spec.unknown_keys.empty());
}
TEST(MegatronModel, GatedWithRmsNormAndRopeIsALlama) {
  const ModelSpec spec = built(shape({{"--num-layers", "32"},
                                      {"--hidden-size", "4096"},
                                      {"--num-attention-heads", "32"},
                                      {"--ffn-hidden-size", "14336"},
                                      {"--vocab-size", "128256"},
                                      {"--swiglu", ""},
                                      {"--normalization", "RMSNorm"},
                                      {"--position-embedding-type", "rope"},
                                      {"--group-query-attention", ""},
                                      {"--num-query-groups", "8"},
                                      {"--disable-bias-linear", ""},
                                      {"--untie-embeddings-and-output-weights", ""},
                                      {"--max-position-embeddings", "8192"}}));
  EXPECT_EQ(build_model(spec).total_parameters(), 8030261248);  // models.csv, llama-3-8b
}
TEST(MegatronModel, MixturesWithoutAModelTypeAreRefused) {
  Problems problems;
  EXPECT_FALSE(config_from_flags(shape({{"--num-layers", "2"},
                                        {"--hidden-size", "64"},
                                        {"--num-attention-heads", "4"},
                                        {"--vocab-size", "100"},
                                        {"--swiglu", ""}}),
                                 problems));
  EXPECT_EQ(problems.list().size(), 1u);
}
TEST(MegatronModel, MissingSizesAreAllNamed) {
  Problems problems;
  EXPECT_FALSE(config_from_flags(shape({{"--num-layers", "2"}}), problems));
  EXPECT_EQ(problems.list().size(), 3u);
}
TEST(MegatronModel, AContradictionToTheModelIsAProblem) {
  const Scenario scenario = testing::read(testing::smallest);
  Problems problems;
  compare_with_flags(shape({{"--num-layers", "32"}, {"--swiglu", ""}, {"--num-query-groups", "8"}}),
                     scenario.model, problems);
  EXPECT_TRUE(problems.empty());
  compare_with_flags(shape({{"--num-layers", "24"}}), scenario.model, problems);
  ASSERT_EQ(problems.list().size(), 1u);
  EXPECT_EQ(problems.list()[0].what, "--num-layers 24 contradicts llama-3.1-8b, which has 32");
}

TEST(PipelineLayout, RepeatsSymbolsAndGroups) {
  EXPECT_EQ(layers_of_layout("Et*3|(tt|)*2ttL"), (std::vector<std::int64_t>{3, 2, 2, 2}));
  EXPECT_EQ(layers_of_layout("E|t|tL"), (std::vector<std::int64_t>{0, 1, 1}));
}
TEST(PipelineLayout, RefusesWhatItDoesNotMean) {
  for (const char* layout :
       {"", "(tt", "tt)", "t*0", "xtt", "tE|t", "tLt|t", "((((((((((((((((((((((((t", "t*99999999"})
    EXPECT_FALSE(layers_of_layout(layout)) << layout;
}
TEST(PipelineShorthandKeys, BecomeChunksAndSplits) {
  const std::string plan = testing::smallest + "[plan]\npp = 4\n";
  EXPECT_EQ(testing::read(plan + "num_layers_per_virtual_pipeline_stage = 2\n")
                .plan.virtual_pipeline_model_parallel_size,
            4);
  EXPECT_EQ(testing::read(plan + "num_layers_in_first_pipeline_stage = 5\n").plan.pipeline_layers,
            (std::vector<std::int64_t>{5, 9, 9, 9}));
  EXPECT_EQ(
      testing::read(plan + "pipeline_model_parallel_layout = \"Et*7|t*9|t*9|t*7L\"\n").plan.pipeline_layers,
      (std::vector<std::int64_t>{7, 9, 9, 7}));
  EXPECT_EQ(testing::problems_of(plan + "num_layers_per_virtual_pipeline_stage = 3\n"),
            "s.toml:8:1: num_layers_per_virtual_pipeline_stage = 3 does not divide the 8 layers of a stage (32 "
            "layers, pp = 4)");
}

}  // namespace
}  // namespace tandem
