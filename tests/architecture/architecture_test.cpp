// Folders include only what the table allows, foreign headers stay at home, and the checker sees planted
// breaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/architecture/include_table.h"
#include "tests/architecture/source_rules.h"

namespace tandem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<Breach>& breaches) {
  std::vector<std::string> all;
  for (const Breach& breach : breaches) all.push_back(text(breach));
  return all;
}

// The breaches of one file that stands in a repository of a few headers.
std::vector<std::string> include_breaches_of(const std::string& path, const std::string& content) {
  return texts(include_breaches({{path, content},
                                 {"core/units/id.h", ""},
                                 {"core/model/operator.h", ""},
                                 {"core/cost/cost_model.h", ""},
                                 {"core/cli/report.h", ""},
                                 {"sim/simulate.h", ""}}));
}

std::vector<std::string> file_breaches_of(const std::string& path, const std::string& content) {
  return texts(file_breaches({{path, content}}));
}

TEST(Sources, AreFound) { EXPECT_GT(read_sources(TANDEM_SOURCE_DIR).size(), 30u); }

TEST(Sources, IncludeOnlyWhatTheTableAllows) {
  EXPECT_THAT(texts(include_breaches(read_sources(TANDEM_SOURCE_DIR))), IsEmpty());
}

TEST(Sources, KeepTheRulesOfEveryFile) {
  EXPECT_THAT(texts(file_breaches(read_sources(TANDEM_SOURCE_DIR))), IsEmpty());
}

TEST(IncludeTable, HasNoCycle) {
  for (const FolderRule& rule : folder_rules()) {
    for (const std::string& included : rule.includes) {
      EXPECT_FALSE(allowed_folders(included, folder_rules()).contains(rule.folder))
          << rule.folder << " and " << included << " include each other";
    }
  }
}

TEST(IncludeTable, NamesOnlyFoldersThatHaveALine) {
  for (const FolderRule& rule : folder_rules()) {
    for (const std::string& included : rule.includes) {
      EXPECT_FALSE(allowed_folders(included, folder_rules()).empty()) << rule.folder << " names " << included;
    }
  }
}

TEST(IncludeTable, LeftOfLeftMayBeIncluded) {
  EXPECT_TRUE(allowed_folders("core/lower", folder_rules()).contains("core/units"));
}

TEST(IncludeCheck, NamesFileLineAndFolderOfAStepToTheRight) {
  EXPECT_THAT(include_breaches_of("core/model/a.cpp",
                                  "// A.\n#include <vector>\n#include \"core/cost/cost_model.h\"\n"),
              ElementsAre(HasSubstr("core/model/a.cpp:3: core/model includes core/cost")));
}

TEST(IncludeCheck, AllowsAStepToTheLeftAndTheOwnFolder) {
  EXPECT_THAT(include_breaches_of("core/model/graph.h",
                                  "#include \"core/units/id.h\"\n#include \"core/model/operator.h\"\n"),
              IsEmpty());
}

TEST(IncludeCheck, CoreNeverIncludesTheSimulator) {
  EXPECT_THAT(include_breaches_of("core/cli/main.cpp", "#include \"sim/simulate.h\"\n"),
              ElementsAre(HasSubstr("core/cli includes sim")));
}

TEST(IncludeCheck, BackendsDoNotIncludeEachOther) {
  EXPECT_THAT(include_breaches_of("exec/execute.cpp", "#include \"sim/simulate.h\"\n"),
              ElementsAre(HasSubstr("exec includes sim")));
}

TEST(IncludeCheck, TestsIncludeEverything) {
  EXPECT_THAT(include_breaches_of("tests/sim/a_test.cpp",
                                  "#include \"sim/simulate.h\"\n#include \"core/cli/report.h\"\n"),
              IsEmpty());
}

TEST(IncludeCheck, PathsCountFromTheRoot) {
  EXPECT_THAT(include_breaches_of("core/model/a.cpp", "#include \"operator.h\"\n"),
              ElementsAre(HasSubstr("\"operator.h\", which is no file")));
}

TEST(IncludeCheck, AFolderOutsideTheTableIsNamed) {
  EXPECT_THAT(include_breaches_of("core/managers/a.cpp", "#include \"core/units/id.h\"\n"),
              ElementsAre(HasSubstr("core/managers has no line in the include table")));
}

TEST(IncludeCheck, SpacesDoNotHideAnInclude) {
  EXPECT_THAT(include_breaches_of("core/units/a.cpp", "  #  include  \"core/model/operator.h\"\n"),
              ElementsAre(HasSubstr("core/units includes core/model")));
}

TEST(IncludeCheck, AnIncludeThatIsCommentedOutDoesNotCount) {
  EXPECT_THAT(include_breaches_of("core/units/a.cpp", "// #include \"core/model/operator.h\"\n"), IsEmpty());
}

TEST(ForeignHeaders, StayAtHome) {
  const auto breaches_of = [](const std::string& path, const std::string& header) {
    return include_breaches_of(path, "#include <" + header + ">\n");
  };
  EXPECT_THAT(breaches_of("core/cost/a.cpp", "simgrid/s4u.hpp"),
              ElementsAre(HasSubstr("which belongs in sim")));
  EXPECT_THAT(breaches_of("sim/simulate.h", "simgrid/s4u.hpp"), ElementsAre(HasSubstr("which belongs in")));
  EXPECT_THAT(breaches_of("sim/flows.cpp", "simgrid/s4u.hpp"), IsEmpty());
  EXPECT_THAT(breaches_of("core/cli/a.cpp", "QtWidgets/QWidget"),
              ElementsAre(HasSubstr("which belongs in gui")));
  EXPECT_THAT(breaches_of("sim/a.cpp", "mpi.h"), ElementsAre(HasSubstr("which belongs in exec")));
  EXPECT_THAT(breaches_of("core/task/a.h", "cuda_runtime.h"), ElementsAre(HasSubstr("which belongs in exec")));
  EXPECT_THAT(breaches_of("core/model/a.h", "toml++/toml.h"),
              ElementsAre(HasSubstr("which belongs in core/cluster")));
  EXPECT_THAT(breaches_of("core/cli/a.cpp", "sqlite3.h"),
              ElementsAre(HasSubstr("which belongs in core/record")));
  EXPECT_THAT(breaches_of("core/scenario/a.cpp", "CLI/CLI.hpp"),
              ElementsAre(HasSubstr("a library without a line in the include table")));
  EXPECT_THAT(breaches_of("core/plan/a.cpp", "nlohmann/json.hpp"),
              ElementsAre(HasSubstr("which belongs in core/model")));
}

TEST(ForeignHeaders, AnUnknownLibraryIsNamed) {
  EXPECT_THAT(include_breaches_of("core/plan/a.cpp", "#include <Eigen/Dense>\n"),
              ElementsAre(HasSubstr("<Eigen/Dense>, a library without a line")));
}

TEST(ForeignHeaders, TheStandardLibraryIsFreeEverywhere) {
  EXPECT_THAT(include_breaches_of("core/units/id.h", "#include <string_view>\n#include <cstdint>\n"),
              IsEmpty());
}

TEST(FileCheck, AHeaderNeedsPragmaOnce) {
  EXPECT_THAT(file_breaches_of("core/units/a.h", "// A.\nint a();\n"),
              ElementsAre(HasSubstr("without #pragma once")));
}

TEST(FileCheck, AFileStartsByStatingItsJob) {
  EXPECT_THAT(file_breaches_of("core/units/a.cpp", "int a();\n// A.\n"),
              ElementsAre(HasSubstr("first line is no comment")));
}

TEST(FileCheck, TheLongestFileIsAllowedAndOneLineMoreIsNot) {
  std::string longest = "// A.\n";
  for (int i = 1; i < longest_file; ++i) longest += "\n";
  EXPECT_THAT(file_breaches_of("core/units/a.cpp", longest), IsEmpty());
  EXPECT_THAT(file_breaches_of("core/units/a.cpp", longest + "\n"),
              ElementsAre(HasSubstr("a.cpp:501: over 500 lines")));
}

TEST(FileCheck, NotesToOneselfAreNamedWithTheirLine) {
  EXPECT_THAT(file_breaches_of("sim/a.cpp", std::string("// A.\n\nint a;  // TO") + "DO: b\n"),
              ElementsAre(HasSubstr("sim/a.cpp:3: a note")));
}

}  // namespace
}  // namespace tandem
