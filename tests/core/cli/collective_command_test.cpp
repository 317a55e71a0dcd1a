// tandem collective: every choice is carried out or refused, never replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/cli/cli.h"
#include "core/cli/command_table.h"
#include "core/collective/collective.h"

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Result {
  int code;
  std::string output, messages;
};

Result collective(std::vector<std::string> words) {
  words.insert(words.begin(), {"tandem", "collective"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_cli(static_cast<int>(arguments.size()), arguments.data(),
                           {.scenarios = std::string(TANDEM_SOURCE_DIR) + "/scenarios"}, {});
  const std::string output = testing::internal::GetCapturedStdout();
  return {code, output, testing::internal::GetCapturedStderr()};
}

std::vector<std::string> choices(const std::string& option) {
  for (const CommandSpec& command : commands())
    if (command.id == CommandId::Collective)
      for (const OptionSpec& each : command.options)
        if (each.names.front() == option) return each.choices;
  return {};
}

TEST(CollectiveCommand, OffersNamesThatItsEnumerationsKnow) {
  for (const std::string& choice : choices("--op")) EXPECT_TRUE(parse_collective_kind(choice)) << choice;
  for (const std::string& choice : choices("--algorithm")) EXPECT_TRUE(parse_algorithm(choice)) << choice;
}

TEST(CollectiveCommand, RunsTheAlgorithmThatIsAskedForOrSaysThatItCannot) {
  for (const std::string& kind : choices("--op")) {
    for (const std::string& algorithm : choices("--algorithm")) {
      const Result result =
          collective({"--op", kind, "--algorithm", algorithm, "--cluster", "dgx-h100:2", "--sizes", "1M"});
      if (result.code != 0) {
        EXPECT_THAT(result.messages, HasSubstr("cannot be made so")) << kind << " " << algorithm;
      } else if (algorithm != "auto") {
        EXPECT_THAT(result.output, HasSubstr(algorithm)) << kind;
      }
    }
  }
}

TEST(CollectiveCommand, NamesTheAlgorithmsThatThereAre) {
  const Result result =
      collective({"--op", "all_gather", "--algorithm", "tree", "--cluster", "dgx-h100:2", "--sizes", "1M"});
  EXPECT_EQ(result.code, exit_input);
  EXPECT_THAT(result.messages, HasSubstr("use auto, ring"));
  EXPECT_THAT(result.output, IsEmpty());
}

TEST(CollectiveCommand, SaysHowFarSizesGo) {
  const Result result = collective({"--op", "all_reduce", "--cluster", "dgx-h100:2", "--sizes", "1M..1024T"});
  EXPECT_EQ(result.code, exit_input);
  EXPECT_THAT(result.messages, HasSubstr("ends above"));
}

}  // namespace
}  // namespace tandem
