// Models are found by path, by folder, by id.
#include "core/model/find_model.h"

#include <gtest/gtest.h>

#include "core/problem/problem.h"

namespace tandem {
namespace {

const std::string scenarios = TANDEM_SOURCE_DIR "/scenarios";

TEST(FindModel, TakesFilesFoldersAndIds) {
  const std::string file = scenarios + "/models/gpt2/config.json";
  EXPECT_EQ(find_model(file, "/nowhere"), file);
  EXPECT_EQ(find_model(scenarios + "/models/gpt2", "/nowhere"), file);
  EXPECT_EQ(find_model("gpt2", scenarios), file);
}
std::string refusal(const std::string& name) {
  try {
    return find_model(name, scenarios);
  } catch (const InputError& error) {
    return error.problems().at(0).what + " | " + error.problems().at(0).hint;
  }
}
TEST(FindModel, NamesTheNearestId) {
  EXPECT_EQ(refusal("lama-3-8b"),
            "\"lama-3-8b\" is neither a config.json, nor a folder with one, nor a shipped model | did you mean "
            "llama-3-8b?");
  EXPECT_EQ(
      refusal("something-else-entirely"),
      "\"something-else-entirely\" is neither a config.json, nor a folder with one, nor a shipped model | "
      "tandem models lists the shipped models");
  EXPECT_EQ(refusal(scenarios),
            "is a folder without a config.json | name a Hugging Face config.json, or a folder that holds one");
  EXPECT_EQ(refusal("../models/gpt2").find("\"../models/gpt2\" is neither"), 0u);
  EXPECT_EQ(refusal("").find("\"\" is neither"), 0u);
}
TEST(FindModel, ListsNothingWhereThereIsNothing) { EXPECT_TRUE(list_models("/nowhere").empty()); }

}  // namespace
}  // namespace tandem
