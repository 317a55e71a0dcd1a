// A scenario's sections are read into specs, and each kind of mistake is one exact problem with its place.
#include <fstream>

#include "core/units/text.h"
#include "tests/core/scenario/scenario_support.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::problems_of;
using testing::read;
using testing::smallest;

TEST(ReadScenario, AModelAndAClusterAreEnough) {
  const Scenario scenario = read(smallest);
  EXPECT_EQ(scenario.model.num_hidden_layers, 32);
  ASSERT_EQ(scenario.cluster.groups.size(), 1u);
  EXPECT_EQ(scenario.cluster.groups[0].count, 2);
  EXPECT_EQ(scenario.name, "s");
}
TEST(ReadScenario, AliasesMeanTheSameAsLongNames) {
  const Scenario scenario = read(smallest + "[plan]\ntp = 4\npp = 2\nmbs = 3\n");
  EXPECT_EQ(scenario.plan.tensor_model_parallel_size, 4);
  EXPECT_EQ(scenario.plan.pipeline_model_parallel_size, 2);
  EXPECT_EQ(scenario.plan.micro_batch_size, 3);
  EXPECT_EQ(scenario.plan.where_of("tensor_model_parallel_size").line, 7);
}
TEST(ReadScenario, BatchAndSequenceMayStandUnderTraining) {
  const Scenario scenario = read(smallest + "[training]\nseq_length = 4096\ngbs = 64\ntokens_total = 15e12\n");
  EXPECT_EQ(scenario.plan.seq_length, 4096);
  EXPECT_EQ(scenario.plan.global_batch_size, 64);
  EXPECT_EQ(scenario.tokens_total, 15e12);
}
TEST(ReadScenario, EverythingAPresetSaysCanBeOverridden) {
  const Scenario scenario = read(
      "[model]\nconfig = \"llama-3.1-8b\"\n[cluster]\npreset = \"dgx-h100:4\"\n"
      "[cluster.device]\nmemory = \"96 GiB\"\npeak = { bf16 = \"500 TFLOP/s\" }\n"
      "price = { usd_per_device_hour = [1.5], date = \"2026-08\" }\n"
      "[cluster.node]\nports = 4\n[cluster.link.nvlink4]\nlatency = \"2 us\"\n"
      "[cluster.fabric]\nkind = \"fat-tree\"\noversubscription = 3\n");
  const NodeGroupSpec& group = scenario.cluster.groups.at(0);
  EXPECT_EQ(group.device.memory, gibibytes(96));
  EXPECT_EQ(group.device.peak.at(DType::Bf16), teraflops(500));
  EXPECT_EQ(group.device.price->usd_per_device_hour(), 1.5);
  EXPECT_EQ(group.type.ports, 4);
  EXPECT_EQ(scenario.cluster.fabric.kind, FabricKind::FatTree);
  EXPECT_EQ(scenario.cluster.fabric.oversubscription, 3);
  for (const LinkTechnology& link : scenario.cluster.technologies)
    if (link.id == "nvlink4") {
      EXPECT_EQ(link.latency, microseconds(2));
    }
}
TEST(ReadScenario, NodesMayDiffer) {
  const Scenario scenario = read(
      "[model]\nconfig = \"llama-3.1-8b\"\n[[cluster.groups]]\npreset = \"dgx-a100\"\nnodes = 1\n"
      "[[cluster.groups]]\npreset = \"dgx-h100\"\nnodes = 2\n[[cluster.slow_devices]]\ndevice = 3\nfactor = "
      "1.2\n");
  ASSERT_EQ(scenario.cluster.groups.size(), 2u);
  EXPECT_EQ(scenario.cluster.groups[1].count, 2);
  ASSERT_EQ(scenario.cluster.slow_devices.size(), 1u);
  EXPECT_EQ(scenario.cluster.slow_devices[0].factor, 1.2);
}
TEST(ReadScenario, ModelKeysCanBeOverridden) {
  const Scenario scenario = read(
      "[model]\nconfig = \"llama-3.1-8b\"\n[model.override]\nnum_hidden_layers = 16\n"
      "[cluster]\npreset = \"dgx-h100\"\n");
  EXPECT_EQ(scenario.model.num_hidden_layers, 16);
}
TEST(ReadScenario, AModelBesideTheScenarioIsFound) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.file("mine.json")) << R"({"model_type":"llama","hidden_size":256,"num_hidden_layers":2,
    "num_attention_heads":4,"intermediate_size":512,"vocab_size":1000,"max_position_embeddings":128})";
  std::ofstream(folder.file("s.toml")) << "[model]\nconfig = \"mine.json\"\n[cluster]\npreset = \"dgx-h100\"\n";
  const Scenario scenario = read_scenario(folder.file("s.toml"), {}, testing::shipped_library());
  EXPECT_EQ(scenario.model.hidden_size, 256);
  EXPECT_EQ(scenario.model.name, "mine");
}
TEST(ReadScenario, OverridesReplaceTheFilesOwnSpelling) {
  const Scenario scenario =
      read(smallest + "[plan]\ntp = 4\n[training]\ngbs = 8\n", {{"tensor_model_parallel_size", "2", {}},
                                                                {"gbs", "16", {}},
                                                                {"cluster.fabric.oversubscription", "2", {}},
                                                                {"cluster", "dgx-a100:4", {}}});
  EXPECT_EQ(scenario.plan.tensor_model_parallel_size, 2);
  EXPECT_EQ(scenario.plan.global_batch_size, 16);
  EXPECT_EQ(scenario.cluster.fabric.oversubscription, 2);
  EXPECT_EQ(scenario.cluster.groups.at(0).count, 4);
}
TEST(ReadScenario, AllShippedScenariosAreSound) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::shipped_library().folder)) {
    if (entry.path().extension() != ".toml") continue;
    ++found;
    EXPECT_NO_THROW(read_scenario(entry.path().string(), {}, testing::shipped_library())) << entry.path();
  }
  EXPECT_GE(found, 13);
}

struct Mistake {
  const char *name, *added, *message;
};
class ScenarioMistake : public ::testing::TestWithParam<Mistake> {};
TEST_P(ScenarioMistake, IsOneProblemWithItsPlace) {
  EXPECT_EQ(problems_of(smallest + GetParam().added), GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, ScenarioMistake,
    ::testing::Values(
        Mistake{"Misspelled", "[plan]\ntensor_model_paralel_size = 2\n",
                "s.toml:7:1: unknown key tensor_model_paralel_size in [plan]\n  hint: did you mean "
                "tensor_model_parallel_size?"},
        Mistake{"WrongSection", "[plan]\nfidelity = \"full\"\n",
                "s.toml:7:1: unknown key fidelity in [plan]\n  hint: it belongs in [simulation]"},
        Mistake{"UnknownSection", "[pln]\ntp = 2\n",
                "s.toml:6:2: unknown section pln\n  hint: did you mean [plan]?"},
        Mistake{"TwoNames", "[plan]\ntp = 2\ntensor_model_parallel_size = 2\n",
                "s.toml:8:1: tensor_model_parallel_size and tp (s.toml:7:1) are the same key\n  hint: keep one "
                "of them"},
        Mistake{"TwoSections", "[plan]\nmbs = 2\n[training]\nmbs = 2\n",
                "s.toml:9:1: mbs and mbs (s.toml:7:1) are the same key\n  hint: keep one of them"},
        Mistake{"FloatForInteger", "[plan]\ntp = 2.0\n",
                "s.toml:7:1: tp = 2.0: a whole number from 1 to 1048576 is wanted"},
        Mistake{"TextForInteger", "[plan]\ntp = \"2\"\n",
                "s.toml:7:1: tp = \"2\": a whole number from 1 to 1048576 is wanted"},
        Mistake{"ListForInteger", "[plan]\ntp = [2, 4]\n",
                "s.toml:7:1: tp = [2, 4]: a whole number from 1 to 1048576 is wanted"},
        Mistake{"Negative", "[plan]\npp = -1\n",
                "s.toml:7:1: pp = -1: a whole number from 1 to 1048576 is wanted"},
        Mistake{"Huge", "[plan]\ngbs = 9223372036854775807\n",
                "s.toml:7:1: gbs = 9223372036854775807: a whole number from 1 to 1000000000 is wanted"},
        Mistake{"TableForValue", "[plan.tp]\nx = 1\n",
                "s.toml:6:7: tp = a table or a date: a whole number from 1 to 1048576 is wanted"},
        Mistake{"BareNumber", "[plan]\nhost_seconds_per_step = 5\n",
                "s.toml:7:1: host_seconds_per_step = 5: a number with its unit in quotes is wanted, as in \"5 "
                "ms\", up to \"1e+06 s\""},
        Mistake{"AbsurdAmount", "[plan]\ndata_bytes_per_sample = \"1e300 B\"\n",
                "s.toml:7:1: data_bytes_per_sample = \"1e300 B\": a number with its unit in quotes is wanted, "
                "as in \"16 KiB\", up to \"1e+15 B\""},
        Mistake{"WrongUnit", "[plan]\nhost_seconds_per_step = \"5 GB\"\n",
                "s.toml:7:1: host_seconds_per_step = \"5 GB\": a number with its unit in quotes is wanted, as "
                "in \"5 ms\", up to \"1e+06 s\""},
        Mistake{"WrongChoice", "[plan]\nrecompute_granularity = \"ful\"\n",
                "s.toml:7:1: recompute_granularity = \"ful\": \"none\", \"selective\" or \"full\" is wanted; "
                "did you mean \"full\"?"},
        Mistake{"WordForSwitch", "[plan]\nsequence_parallel = \"yes\"\n",
                "s.toml:7:1: sequence_parallel = \"yes\": true or false is wanted"},
        Mistake{"NotANumber", "[simulation]\njitter = nan\n",
                "s.toml:7:1: jitter = nan: a share from 0 to 1 is wanted, as in 0.03"},
        Mistake{"PriceWithoutDate", "[cluster.device.price]\nusd_per_device_hour = [2.5]\n",
                "s.toml:6:1: device \"h100-sxm5-80gb\": price: a price without a date is refused\n  hint: add "
                "date = \"2026-08\""},
        Mistake{"OtherFabricsKey", "[cluster.fabric]\nkind = \"torus\"\noversubscription = 2\n",
                "s.toml:8:1: fabric: unknown key \"oversubscription\"\n  hint: known are kind, dimensions"},
        Mistake{"UnknownLink", "[cluster.link.nvlink44]\nlatency = \"1 us\"\n",
                "s.toml:6:1: [cluster.link]: the cluster has no link nvlink44\n  hint: did you mean nvlink4?"}),
    [](const auto& mistake) { return std::string(mistake.param.name); });

TEST(ScenarioProblems, AreAllReportedAtOnceInTheOrderOfTheFile) {
  const std::string all = problems_of(smallest + "[plan]\ntp = 0\nppp = 1\n[training]\nframework = 3\n");
  EXPECT_EQ(all,
            "s.toml:7:1: tp = 0: a whole number from 1 to 1048576 is wanted\n"
            "s.toml:8:1: unknown key ppp in [plan]\n  hint: did you mean pp?\n"
            "s.toml:10:1: framework = 3: a text is wanted");
}
TEST(ScenarioProblems, MissingSectionsAreSaid) {
  EXPECT_EQ(problems_of("[cluster]\npreset = \"dgx-h100\"\n").substr(0, 31),
            "s.toml: no model is given\n  hin");
  EXPECT_EQ(problems_of("[model]\nconfig = \"gpt2\"\n").substr(0, 27), "s.toml: no cluster is given");
}
TEST(ScenarioProblems, UnknownModelsAndPresetsNameTheNearest) {
  EXPECT_EQ(problems_of("[model]\nconfig = \"lama-3.1-8b\"\n[cluster]\npreset = \"dgx-h10\"\n"),
            "s.toml:2:1: config = \"lama-3.1-8b\": neither a file nor a shipped model\n  hint: did you mean "
            "llama-3.1-8b?\n"
            "s.toml:4:10: cluster \"dgx-h10\" is not known\n  hint: did you mean \"dgx-h100\"?");
}
TEST(ScenarioProblems, OverridesWithoutEffectAreRefused) {
  EXPECT_EQ(problems_of("[model]\nconfig = \"llama-3.1-8b\"\n[model.override]\nnum_hiden_layers = 16\n"
                        "[cluster]\npreset = \"dgx-h100\"\n")
                .substr(0, 10),
            "s.toml:4:1");
}
TEST(ScenarioProblems, BrokenTomlHasItsLine) {
  EXPECT_EQ(problems_of("[model]\nconfig = \n").substr(0, 9), "s.toml:2:");
}
TEST(ScenarioProblems, OverridesAreOfTheCommandLine) {
  EXPECT_EQ(problems_of(smallest, {{"tpp", "2", {}}}),
            "command line: unknown key tpp\n  hint: did you mean tp?");
  EXPECT_EQ(problems_of(smallest, {{"tp", "x", {}}}),
            "command line: tensor_model_parallel_size = \"x\": a whole number from 1 to 1048576 is wanted");
  EXPECT_EQ(problems_of(smallest, {{"tp", "2", {}}, {"tensor_model_parallel_size", "4", {}}}),
            "command line: tensor_model_parallel_size is given twice: \"2\" and \"4\"");
}
TEST(ScenarioProblems, JunkNeverCrashes) {
  std::string junk;
  std::uint32_t state = 1;
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525 + 1013904223;
    junk += static_cast<char>(state >> 24);
    if (i % 100 == 0) {
      EXPECT_NE(problems_of(junk), "");
    }
  }
  EXPECT_NE(problems_of(std::string(100000, '[')), "");
  EXPECT_NE(problems_of("[model]\nconfig = '{\"a\":" + std::string(100000, '[') + "'\n"), "");
}

TEST(CanonicalScenario, ReadsBackAsItself) {
  const Scenario first =
      read(smallest +
           "[plan]\ntp = 4\nsp = true\nrecompute_granularity = \"selective\"\n"
           "recompute_modules = [\"mlp\"]\nhost_seconds_per_step = \"5 ms\"\n"
           "[training]\nseq_length = 4096\ntokens_total = 1e12\n[simulation]\njitter = 0.03\n");
  const std::string text = to_toml(first);
  const Scenario second = parse_scenario(text, "canonical.toml", {}, testing::shipped_library());
  EXPECT_EQ(to_toml(second), text);
  EXPECT_EQ(second.plan.tensor_model_parallel_size, 4);
  EXPECT_EQ(second.cluster.groups.at(0).device, first.cluster.groups.at(0).device);
  EXPECT_EQ(second.cluster.groups.at(0).type, first.cluster.groups.at(0).type);
}
TEST(CanonicalScenario, HoldsForEveryPreset) {
  for (const auto& [id, preset] : testing::shipped_library().catalog.presets) {
    const Scenario first = read("[model]\nconfig = \"gpt2\"\n[cluster]\npreset = \"" + id + "\"\n");
    const std::string text = to_toml(first);
    EXPECT_EQ(to_toml(parse_scenario(text, "canonical.toml", {}, testing::shipped_library())), text) << id;
  }
}

}  // namespace
}  // namespace tandem
