// Checkpoints go from any plan to any plan unchanged, and a broken one is never taken for whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/problem/problem.h"
#include "exec/training/checkpoint_reader.h"
#include "exec/training/checkpoint_writer.h"
#include "exec/training/initial_values.h"
#include "exec/training/model_digest.h"
#include "tests/exec/training/tiny_models.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::Degrees;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Model;
using testing::plan_of;

constexpr CheckpointValue kinds[] = {CheckpointValue::Weight, CheckpointValue::ExpAvg,
                                     CheckpointValue::ExpAvgSq};

// What a shard shall hold: a function of kind and place in the whole alone.
std::vector<float> expected(const ParameterShard& shard, CheckpointValue kind) {
  std::vector<float> values(static_cast<std::size_t>(shard.local().count()));
  initialize(values, shard, {.mean = 1, .deviation = 1}, 100 + static_cast<std::uint64_t>(kind));
  return values;
}

CheckpointMeta meta_of(const Model& model, std::int64_t step) {
  return {.model = model.graph.name(),
          .model_digest = model_digest(model.graph),
          .step = step,
          .seed = 0xFEDCBA9876543210,
          .samples = 8 * step,
          .data = "numbers",
          .plan = "tp 2\npp 2"};
}

bool writes(const Plan& plan, RankId rank, const ParameterShard& shard) {
  return is_first_copy(plan, rank, shard) && testing::replica_of(plan, rank, shard) == 0;
}

// Values of a shard from somewhere: as expected, or from another checkpoint.
using Values = std::function<std::vector<float>(const ParameterShard&, CheckpointValue)>;

void write_ranks(const Model& model, const Plan& plan, const std::string& dir, std::int64_t step,
                 const Values& values = expected) {
  for (std::uint32_t r = 0; r < plan.mesh.ranks(); ++r) {
    CheckpointWriter writer(dir, step, r);
    for (const ParameterShard& shard : parameter_shards(model.graph, plan, RankId(r)))
      for (const CheckpointValue kind : kinds)
        if (writes(plan, RankId(r), shard)) writer.add(shard, kind, values(shard, kind));
    writer.finish_rank();
  }
}

void save(const Model& model, const Plan& plan, const std::string& dir, std::int64_t step,
          const Values& values = expected) {
  write_ranks(model, plan, dir, step, values);
  publish_checkpoint(dir, meta_of(model, step), static_cast<std::uint32_t>(plan.mesh.ranks()));
}

std::vector<float> read(CheckpointReader& reader, const ParameterShard& shard, CheckpointValue kind) {
  std::vector<float> values(static_cast<std::size_t>(shard.local().count()), -7);
  reader.read(shard, kind, values);
  return values;
}

void expect_loads(const Model& model, const Plan& plan, const std::string& folder, const std::string& what) {
  CheckpointReader reader(folder);
  reader.check_model(model.graph);
  for (std::uint32_t r = 0; r < plan.mesh.ranks(); ++r)
    for (const ParameterShard& shard : parameter_shards(model.graph, plan, RankId(r)))
      for (const CheckpointValue kind : kinds)
        ASSERT_EQ(read(reader, shard, kind), expected(shard, kind))
            << shard.name << ", rank " << r << ", " << what;
}

template <class Fault, class Function>
std::string message(Function function) {
  try {
    function();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "no fault";
}

class CheckpointTest : public ::testing::Test {
 protected:
  const std::string& dir() const { return folder_.path(); }
  std::string step(std::int64_t number) const { return checkpoint_folder(dir(), number); }
  // A checkpoint of tiny-llama under tp 2.
  void save_step(std::int64_t number) { save(llama_, plan_of(llama_, {.tp = 2}), dir(), number); }
  // Changes one byte at a share of the file's size.
  void damage(const std::string& path, double share) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(share * static_cast<double>(fs::file_size(path)));
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x10));
  }

  testing::TemporaryFolder folder_;
  const Model llama_ = testing::tiny_llama();
};

TEST_F(CheckpointTest, IsReadUnderItsOwnPlanBitForBit) {
  for (const Model& model : testing::tiny_models()) {
    const Plan plan = plan_of(model, {.tp = 2, .dp = 2, .pp = 2, .ep = 2});
    save(model, plan, folder_.file(model.graph.name()), 1);
    expect_loads(model, plan, checkpoint_folder(folder_.file(model.graph.name()), 1), "same plan");
  }
}

TEST_F(CheckpointTest, IsReadUnderAnyOtherPlan) {
  const std::vector<Degrees> plans = {Degrees{}, Degrees{.tp = 2}, Degrees{.dp = 4, .ep = 4},
                                      Degrees{.tp = 2, .dp = 2, .ep = 2, .etp = 2},
                                      Degrees{.cp = 2, .pp = 2, .ep = 2}};
  for (const Model& model : {testing::tiny_mixtral(), testing::tiny_t5(), testing::tiny_gpt()}) {
    for (const Degrees& from : plans) {
      save(model, plan_of(model, from), folder_.file(model.graph.name()), 1);
      for (const Degrees& to : plans)
        expect_loads(model, plan_of(model, to), checkpoint_folder(folder_.file(model.graph.name()), 1),
                     text(from) + " to " + text(to));
    }
  }
}

TEST_F(CheckpointTest, SurvivesTheWayFromTensorToDataToPipelineParallelism) {
  const Model model = testing::tiny_gpt();
  save(model, plan_of(model, {.tp = 2}), dir(), 1);
  CheckpointReader first(step(1));
  save(model, plan_of(model, {.dp = 2}), dir(), 2,
       [&](const ParameterShard& shard, CheckpointValue kind) { return read(first, shard, kind); });
  CheckpointReader second(step(2));
  save(model, plan_of(model, {.pp = 2}), dir(), 3,
       [&](const ParameterShard& shard, CheckpointValue kind) { return read(second, shard, kind); });
  expect_loads(model, plan_of(model, {}), step(3), "after three plans");
}

// As ZeRO has it: two ranks write flat halves of each shard, three read thirds.
TEST_F(CheckpointTest, IsWrittenAndReadInFlatRanges) {
  const Plan plan = plan_of(llama_, {});
  const std::vector<ParameterShard> shards = parameter_shards(llama_.graph, plan, RankId(0));
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    CheckpointWriter writer(dir(), 1, rank);
    for (const ParameterShard& shard : shards) {
      const std::vector<float> all = expected(shard, CheckpointValue::ExpAvg);
      const std::size_t middle = all.size() / 2 + 3;
      const std::span<const float> half =
          rank == 0 ? std::span(all).first(middle) : std::span(all).subspan(middle);
      writer.add(shard, CheckpointValue::ExpAvg, half, rank == 0 ? 0 : static_cast<std::int64_t>(middle));
    }
    writer.finish_rank();
  }
  publish_checkpoint(dir(), meta_of(llama_, 1), 2);
  CheckpointReader reader(step(1));
  for (const ParameterShard& shard : shards) {
    const std::vector<float> all = expected(shard, CheckpointValue::ExpAvg);
    for (std::size_t part = 0; part < 3; ++part) {
      const std::size_t begin = all.size() * part / 3, end = all.size() * (part + 1) / 3;
      std::vector<float> values(end - begin);
      reader.read(shard, CheckpointValue::ExpAvg, values, static_cast<std::int64_t>(begin));
      EXPECT_TRUE(std::equal(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(begin)))
          << shard.name << " third " << part;
    }
  }
}

TEST_F(CheckpointTest, KeepsWhatIsSaidAboutIt) {
  save_step(12);
  EXPECT_EQ(CheckpointReader(step(12)).meta(), meta_of(llama_, 12));
  EXPECT_TRUE(CheckpointReader(step(12)).has(CheckpointValue::ExpAvg));
  EXPECT_FALSE(CheckpointReader(step(12)).has(CheckpointValue::Momentum));
}

TEST_F(CheckpointTest, HasNoFileForARankThatOwnsNothing) {
  save(llama_, plan_of(llama_, {.dp = 2}), dir(), 1);
  EXPECT_EQ(read_checkpoint_index(step(1)).files.size(), 1u);
}

TEST_F(CheckpointTest, IsFoundByTheHighestStep) {
  EXPECT_EQ(latest_checkpoint(folder_.file("none")), std::nullopt);
  EXPECT_EQ(latest_checkpoint(dir()), std::nullopt);
  save_step(999'999);
  save_step(1'000'000);
  save_step(20);
  EXPECT_EQ(latest_checkpoint(dir()), step(1'000'000));
}

TEST_F(CheckpointTest, IsNotThereUntilItIsPublished) {
  save_step(1);
  CheckpointWriter writer(dir(), 2, 0);
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
  const Plan plan = plan_of(llama_, {.tp = 2});
  const ParameterShard shard = parameter_shards(llama_.graph, plan, RankId(0)).front();
  writer.add(shard, CheckpointValue::Weight, expected(shard, CheckpointValue::Weight));
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
  writer.finish_rank();
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
  write_checkpoint_index(unfinished_checkpoint_folder(dir(), 2), {meta_of(llama_, 2), {}});
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
}

TEST_F(CheckpointTest, IsNotPublishedWithAFileThatItsRankDidNotFinish) {
  save_step(1);
  const Plan plan = plan_of(llama_, {});
  const ParameterShard shard = parameter_shards(llama_.graph, plan, RankId(0)).front();
  {
    CheckpointWriter writer(dir(), 2, 0);
    writer.add(shard, CheckpointValue::Weight, expected(shard, CheckpointValue::Weight));
  }
  EXPECT_THAT(message<BackendError>([&] { publish_checkpoint(dir(), meta_of(llama_, 2), 1); }),
              HasSubstr("rank-00000.bin is not complete"));
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
}

TEST_F(CheckpointTest, OfAnInterruptedRunWithMoreRanksLeavesNothingInTheNext) {
  write_ranks(llama_, plan_of(llama_, {.tp = 2, .pp = 2}), dir(), 1);
  save_step(1);
  EXPECT_EQ(read_checkpoint_index(step(1)).files.size(), 2u);
  expect_loads(llama_, plan_of(llama_, {}), step(1), "after an interrupted run");
  EXPECT_THAT(folder_.entries(), ElementsAre("step-000001"));
}

TEST_F(CheckpointTest, OfTheSameStepIsReplaced) {
  save_step(1);
  save(llama_, plan_of(llama_, {}), dir(), 1);
  EXPECT_EQ(read_checkpoint_index(step(1)).files.size(), 1u);
  EXPECT_THAT(folder_.entries(), ElementsAre("step-000001"));
}

TEST_F(CheckpointTest, WithATruncatedFileIsRefusedByNameAndNotTheLatest) {
  save_step(1);
  save_step(2);
  const std::string file = step(2) + "/rank-00001.bin";
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_THAT(message<InputError>([&] { CheckpointReader{step(2)}; }), HasSubstr(file));
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
}

TEST_F(CheckpointTest, WithAMissingFileIsRefusedByNameAndNotTheLatest) {
  save_step(1);
  save_step(2);
  fs::remove(step(2) + "/rank-00001.bin");
  EXPECT_THAT(message<InputError>([&] { CheckpointReader{step(2)}; }), HasSubstr("rank-00001.bin"));
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
}

TEST_F(CheckpointTest, WithAChangedByteIsRefusedByName) {
  const ParameterShard shard = testing::shard_named(llama_, plan_of(llama_, {}), RankId(0), "L0.mlp.up.weight");
  for (const double share : {0.0, 0.3, 0.9, 0.999}) {
    save_step(1);
    damage(step(1) + "/rank-00001.bin", share);
    EXPECT_THAT(message<InputError>([&] {
                  CheckpointReader reader(step(1));
                  read(reader, shard, CheckpointValue::Weight);
                }),
                ::testing::AllOf(HasSubstr("rank-00001.bin"), HasSubstr("damaged")))
        << share;
  }
}

TEST_F(CheckpointTest, OfAnotherModelIsRefusedNamingBoth) {
  save_step(1);
  EXPECT_THAT(message<InputError>([&] { CheckpointReader(step(1)).check_model(testing::tiny_gpt().graph); }),
              ::testing::AllOf(HasSubstr("of tiny-llama"), HasSubstr("not of tiny-gpt")));
}

TEST_F(CheckpointTest, OfAnotherVersionIsRefusedNamingBoth) {
  save_step(1);
  std::string text = read_text_file(step(1) + "/index.json");
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 7");
  std::ofstream(step(1) + "/index.json") << text;
  EXPECT_THAT(message<InputError>([&] { CheckpointReader{step(1)}; }),
              HasSubstr("version 7, and this program reads version 1"));
}

TEST_F(CheckpointTest, WithAnIndexThatIsNoneIsRefused) {
  for (const char* text : {"", "{", "[]", "{\"version\": 1}", "{\"version\": \"one\"}"}) {
    save_step(1);
    std::ofstream(step(1) + "/index.json") << text;
    EXPECT_THAT(message<InputError>([&] { CheckpointReader{step(1)}; }),
                HasSubstr("not the index of a checkpoint"))
        << text;
  }
}

TEST_F(CheckpointTest, WithoutAParametersElementsSaysHowManyAreMissing) {
  const Plan plan = plan_of(llama_, {});
  const ParameterShard shard = testing::shard_named(llama_, plan, RankId(0), "head.norm.weight");
  CheckpointWriter writer(dir(), 1, 0);
  writer.add(shard, CheckpointValue::Weight, std::vector<float>(30));
  writer.finish_rank();
  publish_checkpoint(dir(), meta_of(llama_, 1), 1);
  CheckpointReader reader(step(1));
  EXPECT_THAT(message<InputError>([&] { read(reader, shard, CheckpointValue::Weight); }),
              HasSubstr("2 elements of head.norm.weight's weight too few"));
  EXPECT_THAT(message<InputError>([&] { read(reader, shard, CheckpointValue::Momentum); }),
              HasSubstr("32 elements of head.norm.weight's momentum too few"));
}

// A limit on file sizes stands for a full disk: the call fails in the same way.
TEST_F(CheckpointTest, ThatTheDiskCannotHoldFailsAndLeavesTheEarlierOne) {
  save_step(1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string fault = message<BackendError>([&] { save_step(2); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(fault, HasSubstr("rank-00000.bin: File too large"));
  EXPECT_EQ(latest_checkpoint(dir()), step(1));
}

TEST_F(CheckpointTest, InAFolderThatCannotBeMadeFails) {
  std::ofstream(folder_.file("taken")) << "a file";
  EXPECT_THAT(message<BackendError>([&] { CheckpointWriter(folder_.file("taken"), 1, 0); }),
              HasSubstr("taken"));
}

TEST_F(CheckpointTest, IsRemovedWhenEnoughLaterOnesAreThere) {
  for (const std::int64_t number : {1, 2, 3, 4}) save_step(number);
  CheckpointWriter(dir(), 3, 0);  // interrupted
  CheckpointWriter(dir(), 9, 0);  // going on
  keep_last_checkpoints(dir(), 2);
  EXPECT_THAT(folder_.entries(), ElementsAre(".step-000009.part", "step-000003", "step-000004"));
}

}  // namespace
}  // namespace tandem
