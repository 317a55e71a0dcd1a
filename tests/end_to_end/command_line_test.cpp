// The tandem program from outside: exit codes, messages, files, and bad surroundings.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/record/run_record.h"
#include "tests/end_to_end/program.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::Finished;
using testing::run;
using testing::TemporaryFolder;

const std::vector<std::string> quickstart = {"predict", "llama-3.1-8b-2xdgx-h100", "--fidelity", "estimate"};
std::vector<std::string> with(std::vector<std::string> words, std::initializer_list<const char*> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
Finished tandem_run(const std::vector<std::string>& words, const testing::Start& start = {}) {
  return run("tandem", words, start);
}

TEST(CommandLine, PredictsTheQuickstart) {
  const Finished done = tandem_run(quickstart);
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.out.find("where the step goes"), std::string::npos);
  EXPECT_EQ(done.error, "");
}
TEST(CommandLine, PredictsWithoutAFile) {
  const Finished done =
      tandem_run({"predict", "--model", "llama-3.1-8b", "--cluster", "dgx-h100:2", "--tp", "4", "--mbs", "1",
                  "--gbs", "32", "--seq-length", "4096", "--fidelity", "estimate", "--json"});
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.out.find("\"step_time_s\""), std::string::npos);
}
TEST(CommandLine, UnderstandsAPastedMegatronScript) {
  const std::string script =
      "#!/bin/bash\nTP=2\nMODEL_ARGS=(\n  --num-layers 24\n  --hidden-size 2048\n  --num-attention-heads 16\n  "
      "--seq-length 2048\n"
      "  --max-position-embeddings 2048\n  --vocab-size 50257\n)\nTRAINING_ARGS=( --micro-batch-size 2 "
      "--global-batch-size 64 --bf16 "
      "--lr 6.0e-5 --use-distributed-optimizer )\ntorchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py "
      "${MODEL_ARGS[@]} "
      "${TRAINING_ARGS[@]} --tensor-model-parallel-size $TP --data-path /data/x --log-interval 10\n";
  const Finished done =
      tandem_run({"predict", "--megatron-args", "-", "--cluster", "dgx-a100", "--fidelity", "estimate"},
                 {.input = script});
  EXPECT_EQ(done.code, 0) << done.error;
  EXPECT_NE(done.out.find("tp 2 x dp 8"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("without effect on a prediction: --data-path, --log-interval, --lr"),
            std::string::npos)
      << done.out;
}
TEST(CommandLine, ARecordSaysWhatThePredictionSaid) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.tandem");
  const Finished predicted = tandem_run(with(quickstart, {"-o", file.c_str()}));
  ASSERT_EQ(predicted.code, 0) << predicted.error;
  EXPECT_EQ(tandem_run({"show", file}).out, predicted.out);
  EXPECT_GT(read_record(file).spans.size(), 1000u);
  for (const char* part : {"--breakdown", "--memory", "--critical-path", "--schedule", "--costs", "--json"}) {
    const Finished shown = tandem_run({"show", file, part});
    EXPECT_EQ(shown.code, 0) << part << shown.error;
    EXPECT_GT(shown.out.size(), 100u) << part;
  }
  for (const char* format : {"chrome", "perfetto", "csv"}) {
    const std::string target = folder.file(std::string("run.") + format);
    EXPECT_EQ(tandem_run({"export", file, "--format", format, "-o", target}).code, 0);
    EXPECT_GT(std::filesystem::file_size(target), 1000u);
  }
}
TEST(CommandLine, APlanThatDoesNotFitIsNoError) {
  const Finished done = tandem_run(with(quickstart, {"--set", "mbs=16", "--json"}));
  EXPECT_EQ(done.code, 0);
  EXPECT_NE(done.out.find("\"fits\": false"), std::string::npos);
}
TEST(CommandLine, ListsAndHelpsWork) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"models"},
        {"models", "--json"},
        {"clusters"},
        {"clusters", "--json"},
        {"schedules"},
        {"man"},
        {"--help"},
        {"--version"},
        {"help", "predict"},
        {"completion", "bash"},
        {"completion", "zsh"},
        {"completion", "fish"},
        {"check", "--help"},
        {"check", "llama-3.1-8b-2xdgx-h100"},
        {"collective", "--op", "all_to_all", "--cluster", "dgx-h100:2", "--sizes", "8..1M"}}) {
    const Finished done = tandem_run(words);
    EXPECT_EQ(done.code, 0) << words[0] << ": " << done.error;
    EXPECT_GT(done.out.size(), 5u) << words[0];
  }
}
TEST(CommandLine, CompletionScriptsAreSoundBash) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("c.bash")) << tandem_run({"completion", "bash"}).out;
  EXPECT_EQ(std::system(("bash -n " + folder.file("c.bash")).c_str()), 0);
}

TEST(ExitCodes, WrongInputIsTwo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{},
        {"prediction"},
        {"run", "x.toml"},
        {"predict"},
        {"predict", "no-such-file.toml"},
        {"predict", "/tmp"},
        {"predict", "--tpp", "2"},
        {"predict", "llama-3.1-8b-2xdgx-h100", "--tp", "3"},
        {"show"},
        {"show", "/etc/hostname"},
        {"show", "/"},
        {"export", "x"},
        {"collective"},
        {"collective", "--op", "all_reduce", "--cluster", "dgx-h100:2", "--sizes", "x..y"},
        {"completion", "tcsh"},
        {"predict", "--scenarios", "/nowhere", "x"}}) {
    const Finished done = tandem_run(words);
    EXPECT_EQ(done.code, 2) << (words.empty() ? "nothing" : words[0]) << done.error;
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.error, "");
  }
}
TEST(ExitCodes, AnUnknownCommandNamesTheNearest) {
  EXPECT_EQ(tandem_run({"predit"}).error,
            "command line: unknown command \"predit\"\n  hint: did you mean predict?\n");
}
TEST(ExitCodes, ClosedAndFullStandardOutputAreThree) {
  const Finished closed = tandem_run({"models"}, {.closed_output = true});
  EXPECT_EQ(closed.code, 3);
  EXPECT_NE(closed.error.find("standard output cannot be written"), std::string::npos);
  const Finished full = tandem_run({"models"}, {.output_file = "/dev/full"});
  EXPECT_EQ(full.code, 3);
  EXPECT_NE(full.error.find("No space left"), std::string::npos);
}
TEST(ExitCodes, AFullDiskLeavesNoHalfWrittenRecord) {
  const TemporaryFolder folder;
  const Finished done =
      tandem_run(with(quickstart, {"-q", "-o", folder.file("run.tandem").c_str()}), {.file_size_limit = 8192});
  EXPECT_EQ(done.code, 3) << done.error;
  EXPECT_TRUE(folder.entries().empty());
}
TEST(ExitCodes, AFolderThatDoesNotExistIsThree) {
  EXPECT_EQ(tandem_run(with(quickstart, {"-o", "/nowhere/run.tandem"})).code, 3);
}
TEST(ExitCodes, AMissingSimulatorIsNamedWithItsPackage) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(std::string(TANDEM_BIN_DIR) + "/tandem", folder.file("tandem"));
  const std::string command = "TANDEM_SCENARIOS=" TANDEM_SOURCE_DIR "/scenarios " + folder.file("tandem") +
                              " predict llama-3.1-8b-2xdgx-h100 2> " + folder.file("error") + " > /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3);
  std::ifstream stream(folder.file("error"));
  const std::string error((std::istreambuf_iterator<char>(stream)), {});
  EXPECT_NE(error.find("tandem-sim"), std::string::npos) << error;
  EXPECT_NE(error.find("libsimgrid-dev"), std::string::npos);
  EXPECT_NE(error.find("--fidelity estimate"), std::string::npos);
}
TEST(ExitCodes, CtrlCIsHundredThirtyAndLeavesNothing) {
  const TemporaryFolder folder;
  const Finished done = tandem_run({"predict", "llama-3.1-405b-16k-h100", "--fidelity", "estimate", "--set",
                                    "gbs=262144", "-q", "-o", folder.file("run.tandem")},
                                   {.interrupt_after_ms = 100});
  EXPECT_EQ(done.code, 130) << done.error;
  EXPECT_TRUE(folder.entries().empty());
}

TEST(ExitCodes, CtrlCDuringASimulationIsHundredThirtyAndLeavesNothing) {
  const TemporaryFolder folder;
  const Finished done = tandem_run(
      {"predict", "llama-3.1-405b-16k-h100", "--fidelity", "full", "-q", "-o", folder.file("run.tandem")},
      {.interrupt_after_ms = 3000});
  EXPECT_EQ(done.code, 130) << done.error;
  EXPECT_TRUE(folder.entries().empty());
}

TEST(Colours, OnlyWhereTheyAreWanted) {
  EXPECT_EQ(tandem_run(quickstart).out.find('\x1b'), std::string::npos);
  EXPECT_NE(tandem_run(with(quickstart, {"--color", "always"})).out.find('\x1b'), std::string::npos);
  EXPECT_EQ(tandem_run(with(quickstart, {"--color", "never"})).out.find('\x1b'), std::string::npos);
}

// A scenario broken in many ways: always a message and 0 or 2, never a crash or a hang.
TEST(BadInput, BrokenScenariosAndModelsAreRefused) {
  const TemporaryFolder folder;
  std::ifstream stream(std::string(TANDEM_SOURCE_DIR) + "/scenarios/llama-3.1-8b-2xdgx-h100.toml");
  const std::string sound((std::istreambuf_iterator<char>(stream)), {});
  std::mt19937 random(7);
  const auto attempt = [&](const std::string& text) {
    std::ofstream(folder.file("s.toml"), std::ios::binary) << text;
    const Finished done = tandem_run({"check", folder.file("s.toml")});
    EXPECT_TRUE(done.code == 0 || done.code == 2) << done.code << "\n" << text << "\n" << done.error;
    EXPECT_TRUE(done.code == 0 || !done.error.empty());
  };
  attempt("");
  attempt(std::string(1 << 20, '\0'));
  attempt("[model]\nconfig = \"/\"\n[cluster]\npreset = \"dgx-h100\"\n");
  attempt("[model]\nconfig = \"/dev/zero\"\n[cluster]\npreset = \"dgx-h100\"\n");
  attempt("[model]\nconfig = \"gpt2\"\n[cluster]\npreset = \"dgx-h100\"\nnodes = 1000000\n");
  for (int i = 0; i < 12; ++i) attempt(sound.substr(0, random() % sound.size()));
  for (int i = 0; i < 12; ++i) {
    std::string broken = sound;
    for (int j = 0; j < 4; ++j) broken[random() % broken.size()] = static_cast<char>(random() % 256);
    attempt(broken);
  }
}
TEST(BadInput, DamagedRecordsAreRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.file("run.tandem");
  ASSERT_EQ(tandem_run(with(quickstart, {"-q", "-o", file.c_str()})).code, 0);
  std::ifstream stream(file, std::ios::binary);
  const std::string sound((std::istreambuf_iterator<char>(stream)), {});
  for (const std::string& broken : {sound.substr(0, sound.size() / 2), sound.substr(0, 50),
                                    std::string("SQLite format 3"), std::string()}) {
    std::ofstream(folder.file("broken.tandem"), std::ios::binary) << broken;
    const Finished done = tandem_run({"show", folder.file("broken.tandem")});
    EXPECT_EQ(done.code, 2) << done.error;
    EXPECT_EQ(done.out, "");
  }
}

}  // namespace
}  // namespace tandem
