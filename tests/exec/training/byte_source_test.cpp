// Bytes of a file as tokens, and files that cannot serve.
#include "exec/training/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "core/problem/problem.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

class ByteSourceTest : public ::testing::Test {
 protected:
  // Byte i of the file is i mod 251.
  std::string written(std::size_t bytes) {
    std::ofstream out(folder_.file("data"), std::ios::binary);
    for (std::size_t i = 0; i < bytes; ++i) out.put(static_cast<char>(i % 251));
    return folder_.file("data");
  }
  template <class Function>
  std::string refusal(Function function) {
    try {
      function();
    } catch (const InputError& fault) {
      return fault.problems().at(0).what;
    }
    return "accepted";
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ByteSourceTest, GivesBytesInTheirOrder) {
  const ByteSource source(written(1000), 7, 256, 33);
  std::vector<std::int32_t> tokens(33);
  source.sequence(2, 3, tokens, {});
  for (std::size_t t = 1; t < tokens.size(); ++t) EXPECT_EQ(tokens[t], (tokens[t - 1] + 1) % 251);
}

TEST_F(ByteSourceTest, LetsTheEncoderSeeWhatComesBefore) {
  const ByteSource source(written(1000), 7, 256, 30);
  std::vector<std::int32_t> main(10), encoder(20);
  source.sequence(2, 3, main, encoder);
  EXPECT_EQ(main[0], (encoder[19] + 1) % 251);
}

TEST_F(ByteSourceTest, ReachesEveryOffset) {
  const ByteSource source(written(40), 7, 256, 33);
  std::set<std::int32_t> begins;
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    std::vector<std::int32_t> tokens(33);
    source.sequence(0, sample, tokens, {});
    begins.insert(tokens[0]);
  }
  EXPECT_THAT(begins, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(ByteSourceTest, GivesTheSameForTheSameStepAndSample) {
  const ByteSource a(written(1000), 7, 256, 33), b(folder_.file("data"), 7, 256, 33);
  std::vector<std::int32_t> x(33), y(33);
  a.sequence(2, 3, x, {});
  b.sequence(2, 3, y, {});
  EXPECT_EQ(x, y);
}

TEST_F(ByteSourceTest, RefusesASmallVocabulary) {
  EXPECT_THAT(refusal([&] { ByteSource(written(100), 7, 255, 33); }), HasSubstr("255"));
}

TEST_F(ByteSourceTest, RefusesAFileThatIsNotThere) {
  EXPECT_THAT(refusal([&] { ByteSource(folder_.file("none"), 7, 256, 33); }), HasSubstr("No such file"));
}

TEST_F(ByteSourceTest, RefusesAFileShorterThanASequence) {
  EXPECT_EQ(refusal([&] { ByteSource(written(32), 7, 256, 33); }),
            "the training data has 32 bytes, and one sequence takes 33");
}

TEST_F(ByteSourceTest, RefusesAFolder) {
  EXPECT_THAT(refusal([&] { ByteSource(folder_.path(), 7, 256, 33); }), HasSubstr("not a regular file"));
}

TEST_F(ByteSourceTest, SaysWhenTheFileHasBecomeShorter) {
  const ByteSource source(written(1000), 7, 256, 33);
  std::filesystem::resize_file(folder_.file("data"), 0);
  std::vector<std::int32_t> tokens(33);
  EXPECT_THROW(source.sequence(0, 0, tokens, {}), BackendError);
}

}  // namespace
}  // namespace tandem
