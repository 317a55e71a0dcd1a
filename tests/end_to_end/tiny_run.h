// A folder with a model that trains in a moment, and the processes that do so.
#pragma once
#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/program.h"
#include "tests/support/temporary_folder.h"

namespace tandem::testing {

class TinyRun : public ::testing::Test {
 protected:
  TinyRun() {
    std::ofstream(folder_.file("config.json"))
        << R"({"model_type":"gpt2","n_layer":2,"n_embd":64,"n_head":4,"n_positions":64,"vocab_size":200,)"
           R"("resid_pdrop":0.0,"attn_pdrop":0.0,"embd_pdrop":0.0})";
  }
  void SetUp() override {
    if (!std::filesystem::exists(TANDEM_BIN_DIR "/tandem-exec"))
      GTEST_SKIP() << "tandem-exec is not built here";
  }
  std::string scenario() const {
    return " --model " + folder_.file("config.json") +
           " --cluster cpu-core:2 --dtype fp32 --mbs 1 --gbs 4 --seq-length 32 ";
  }
  static std::vector<std::string> words(const std::string& line) {
    std::istringstream all(line);
    std::vector<std::string> split;
    for (std::string word; all >> word;) split.push_back(word);
    return split;
  }
  // In the folder.
  Finished call(const std::string& line, Start start = {}) const {
    start.folder = folder_.file("");
    return run("tandem", words(line), start);
  }
  std::string record() const { return folder_.file("run.tandem"); }

  TemporaryFolder folder_;
};

// Processes with `word` in their command lines; those that are watched alone (ranks, and what starts them).
std::vector<pid_t> processes(const std::string& word, bool watched_alone);

}  // namespace tandem::testing
