// Problems print with their place; misspelled names find the right one; files are read whole or refused.
#include "core/problem/problem.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tandem {
namespace {

const std::vector<std::string> keys = {"tensor_model_parallel_size", "pipeline_model_parallel_size", "tp", "pp",
                                       "zero_stage"};

TEST(ProblemText, NamesFileLineColumnAndHint) {
  Problems problems;
  problems.add({"a.toml", 12, 3}, "tp = 3 does not divide 32 attention heads", "use 1, 2 or 4");
  EXPECT_EQ(text(problems.list().at(0)),
            "a.toml:12:3: tp = 3 does not divide 32 attention heads\n  hint: use 1, 2 or 4");
  problems.add({}, "--tp is missing");
  EXPECT_EQ(text(problems.list().at(1)), "command line: --tp is missing");
}
TEST(ProblemText, AnErrorTellsAllItsProblems) {
  Problems problems;
  EXPECT_NO_THROW(problems.throw_if_any());
  problems.add({"a", 1}, "one");
  problems.add({"a", 2}, "two");
  try {
    problems.throw_if_any();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.problems().size(), 2u);
    EXPECT_STREQ(error.what(), "a:1: one\na:2: two");
  }
}

TEST(NearestName, FindsSlipsOfTheHand) {
  EXPECT_EQ(nearest_name("tensor_model_paralel_size", keys), "tensor_model_parallel_size");
  EXPECT_EQ(nearest_name("zero-stgae", keys), "zero_stage");
  EXPECT_EQ(nearest_name("ZERO_STAGE", keys), "zero_stage");
}
TEST(NearestName, LeavesStrangersAlone) {
  EXPECT_EQ(nearest_name("colour", keys), "");
  EXPECT_EQ(nearest_name("", keys), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'x'), keys), "");
}

TEST(Check, ABrokenInvariantStopsWithThePlace) {
  EXPECT_NO_THROW(check(true, "fine"));
  try {
    check(false, "widths agree");
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("problem_test.cpp"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("widths agree"), std::string::npos);
  }
}

std::string refusal(const std::string& path, std::size_t limit = 1 << 20) {
  try {
    read_text_file(path, limit);
  } catch (const InputError& error) {
    return error.problems().at(0).what;
  }
  return "read";
}
TEST(ReadTextFile, ReadsBytesAsTheyAre) {
  const std::string path = testing::TempDir() + "tandem_bytes.bin";
  std::string content(100000, 'x');
  content[5] = '\0';
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(read_text_file(path), content);
  EXPECT_EQ(refusal(path, 99999), "has 100000 bytes, more than the 99999 that are read");
  std::filesystem::remove(path);
}
TEST(ReadTextFile, RefusesWhatIsNotARegularFile) {
  EXPECT_EQ(refusal(testing::TempDir()), "is a directory, not a file");
  EXPECT_EQ(refusal("/dev/zero"), "is not a regular file (a device, a pipe or a socket)");
  EXPECT_EQ(refusal("/no/such/file"), "no such file");
  EXPECT_EQ(refusal(""), "no such file");
}

}  // namespace
}  // namespace tandem
