// The file that -o names: refused before the work, not after it.
#include "core/cli/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/problem/problem.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  OutputFile() : folder(fs::temp_directory_path() / ("tandem-output-file-" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
    std::ofstream(folder / "input.toml") << "kept";
  }
  ~OutputFile() override { fs::remove_all(folder); }
  std::string at(const std::string& name) const { return (folder / name).string(); }

  fs::path folder;
};

TEST_F(OutputFile, IsNeverAFileThatIsRead) {
  EXPECT_THROW(check_output_file(at("input.toml"), {at("input.toml")}), InputError);
  EXPECT_THROW(check_output_file(at("./input.toml"), {"", at("input.toml")}), InputError);
  fs::create_symlink(folder / "input.toml", folder / "link");
  EXPECT_THROW(check_output_file(at("link"), {at("input.toml")}), InputError);
}

TEST_F(OutputFile, MayReplaceAnotherFileAndIsNotTouchedByTheLook) {
  EXPECT_NO_THROW(check_output_file(at("input.toml"), {at("other.toml")}));
  std::string text;
  std::ifstream(folder / "input.toml") >> text;
  EXPECT_EQ(text, "kept");
}

TEST_F(OutputFile, LeavesNothingBehind) {
  EXPECT_NO_THROW(check_output_file(at("new.tandem"), {at("input.toml")}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(OutputFile, NeedsAFolderThatIsThere) {
  EXPECT_THROW(check_output_file(at("absent/new.tandem"), {}), BackendError);
  EXPECT_THROW(check_output_file(folder.string(), {}), BackendError);
}

}  // namespace
}  // namespace tandem
