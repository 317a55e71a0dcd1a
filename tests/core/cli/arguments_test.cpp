// Command lines are understood by the tables of commands, keys and Megatron-LM's flags.
#include "core/cli/arguments.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/cli/help_text.h"
#include "core/scenario/keys.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

Arguments parse(const std::vector<std::string>& words, const char* command = "predict") {
  return parse_arguments(*find_command(command), words);
}
std::string problems_of(const std::vector<std::string>& words, const char* command = "predict") {
  try {
    parse(words, command);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}
// "key=value …" of the overrides, in order.
std::string overrides(const Arguments& arguments) {
  std::string all;
  for (const Override& each : arguments.overrides)
    all += (all.empty() ? "" : " ") + each.key + "=" + each.value;
  for (const Override& each : arguments.megatron.overrides)
    all += (all.empty() ? "" : " ") + each.key + "=" + each.value;
  return all;
}

TEST(Arguments, ShortAndLongFlagsSetKeys) {
  EXPECT_EQ(overrides(parse({"--tp", "8", "--pipeline-model-parallel-size=4", "--sequence-parallel",
                             "--no-overlap-grad-reduce"})),
            "tensor_model_parallel_size=8 pipeline_model_parallel_size=4 sequence_parallel=true "
            "overlap_grad_reduce=false");
}
TEST(Arguments, SetTakesAnyKey) {
  EXPECT_EQ(overrides(parse({"s.toml", "--set", "cluster.fabric.oversubscription=2", "--set", "tp=4"})),
            "cluster.fabric.oversubscription=2 tp=4");
}
TEST(Arguments, ListsMayBeSeveralWords) {
  const Arguments arguments =
      parse({"--recompute-modules", "core_attn", "mlp", "s.toml", "--pipeline-layers", "8", "8,7"});
  EXPECT_EQ(overrides(arguments), "recompute_modules=core_attn,mlp pipeline_layers=8,8,7");
  EXPECT_EQ(arguments.operands, std::vector<std::string>{"s.toml"});
}
TEST(Arguments, MegatronsFlagsAreTranslated) {
  const Arguments arguments =
      parse({"--bf16", "--use-distributed-optimizer", "--lr", "1e-4", "--data-path", "a", "b", "--num-layers",
             "24", "--swiglu", "--cross-entropy-loss-fusion"});
  EXPECT_EQ(overrides(arguments), "dtype=bf16 zero_stage=1");
  EXPECT_EQ(arguments.megatron.without_effect, (std::vector<std::string>{"--lr", "--data-path"}));
  EXPECT_EQ(arguments.megatron.not_modelled, (std::vector<std::string>{"--cross-entropy-loss-fusion"}));
  EXPECT_EQ(arguments.megatron.model.at("--num-layers").text, "24");
}
TEST(Arguments, ScriptsGiveTheirLine) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.file("run.sh"))
      << "ARGS=(\n  --tensor-model-parallel-size 8\n  --tensor-modell-parallel 4\n)\n";
  EXPECT_EQ(
      problems_of({"--megatron-args", folder.file("run.sh")}).substr(0, folder.file("run.sh").size() + 15),
      folder.file("run.sh") + ":3: unknown fla");
}
TEST(Arguments, EveryKeyHasAFlag) {
  for (const Key& key : scenario_keys()) {
    if (find_megatron_flag(flag_of(key)) != nullptr) continue;  // more meanings than the key alone
    const bool is_switch = key.kind == KeyKind::Switch;
    const Arguments arguments = is_switch ? parse({flag_of(key)}) : parse({flag_of(key), "1"});
    ASSERT_EQ(arguments.overrides.size(), 1u) << key.name;
    EXPECT_EQ(arguments.overrides[0].key, key.name);
  }
}
TEST(Arguments, UnknownFlagsNameTheNearest) {
  EXPECT_EQ(problems_of({"--tpp", "2"}), "command line: unknown flag --tpp\n  hint: did you mean --tp?");
  EXPECT_EQ(problems_of({"--jsn"}), "command line: unknown flag --jsn\n  hint: did you mean --json?");
}
TEST(Arguments, AllProblemsAreToldAtOnce) {
  EXPECT_EQ(problems_of({"--bogus-flag-of-mine", "--set", "tp", "--tp"}),
            "command line: unknown flag --bogus-flag-of-mine\n  hint: tandem predict --help lists the flags\n"
            "command line: --set \"tp\" is not KEY=VALUE\n  hint: as in --set tp=8\n"
            "command line: --tp needs a value: ranks");
}
TEST(Arguments, OneScenarioOnly) {
  EXPECT_EQ(problems_of({"a.toml", "b.toml"}),
            "command line: unexpected \"b.toml\"\n  hint: tandem predict takes one scenario");
}
TEST(Arguments, ChoicesOfOptionsAreChecked) {
  EXPECT_EQ(
      problems_of({"x.tandem", "--format", "chrom", "-o", "y"}, "export"),
      "command line: --format \"chrom\" is not one of chrome, perfetto, csv\n  hint: did you mean chrome?");
}
TEST(Arguments, OtherCommandsTakeNoKeys) { EXPECT_NE(problems_of({"x.tandem", "--tp", "2"}, "show"), ""); }

TEST(HelpText, NamesEveryKeyAndOption) {
  Output out(false);
  write_help(*find_command("predict"), out);
  for (const std::string& flag :
       {std::string("--json"), std::string("--megatron-args"), std::string("--color")})
    EXPECT_NE(out.text().find(flag), std::string::npos) << flag;
  for (const Key& key : scenario_keys())
    EXPECT_NE(out.text().find(flag_of(key)), std::string::npos) << key.name;
}
TEST(ManualPage, NamesEveryCommandAndKey) {
  std::string page = manual_page();
  std::string plain;
  for (std::size_t i = 0; i < page.size(); ++i)
    if (page[i] != '\\' || i + 1 >= page.size() || page[i + 1] != '-') plain += page[i];
  for (const CommandSpec& command : commands())
    EXPECT_NE(plain.find("tandem " + command.name), std::string::npos);
  for (const Key& key : scenario_keys()) EXPECT_NE(plain.find(key.name), std::string::npos) << key.name;
}
TEST(Completion, EachShellKnowsEveryCommandAndFlag) {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell);
    for (const CommandSpec& command : commands())
      EXPECT_NE(script.find(command.name), std::string::npos) << shell;
    for (const Key& key : scenario_keys())
      EXPECT_NE(script.find(flag_of(key).substr(2)), std::string::npos) << shell << " " << key.name;
  }
  EXPECT_THROW(completion_script("tcsh"), InputError);
}

}  // namespace
}  // namespace tandem
