// What calibration measures: every work of a plan once, alone; and what a record of a run holds.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/cli/profile_of_record.h"
#include "core/lower/lower.h"
#include "exec/calibrate/communication.h"
#include "exec/calibrate/computation.h"
#include "exec/calibrate/sweep.h"
#include "exec/check_executable.h"
#include "exec/training/make_token_source.h"
#include "tests/exec/execute/plan_text.h"
#include "tests/exec/execute/tiny_models.h"

namespace tandem {
namespace {

struct Tiny {
  ModelSpec spec;
  ModelGraph model;
  Plan plan;
  TaskGraph graph;
  std::unique_ptr<TokenSource> tokens;

  Tiny(ModelSpec what, const std::string& text)
      : spec(std::move(what)), model(build_model(spec)), plan(resolved(text)), graph(lower(model, plan)) {
    tokens = make_token_source(model, plan, {});
  }
  RunSetup setup() const { return {spec, model, plan, graph, *tokens, {}, 0, true}; }

 private:
  Plan resolved(const std::string& text) {
    PlanSpec wanted = testing::plan_of(text);
    wanted.seq_length = 32;
    wanted.global_batch_size = 4;
    return testing::plan_for(spec, model, wanted);
  }
};

const ComputationOptions quick = {
    .at_once = 2, .bind_cores = false, .slices = 2, .warm_up = Seconds(0), .device = "cpu-core"};

void expect_every_work_measured(const Tiny& tiny) {
  ProfileBuilder profile;
  EXPECT_GE(measure_computation(tiny.setup(), quick, profile).slices, 2);
  std::set<std::pair<MeasuredKind, MeasuredShape>> wanted, found;
  for (const Work& work : tiny.graph.works)
    if (const auto* compute = std::get_if<Compute>(&work))
      wanted.insert({kind_of(*compute), shape_of(*compute)});
  for (const ProfileRow& row : profile.rows("a test"))
    for (const MeasuredTime& time : row.times) found.insert({row.kind, time.shape});
  EXPECT_EQ(found, wanted);
}

TEST(Computation, IsMeasuredForEveryWorkOfEveryProgram) {
  expect_every_work_measured({testing::tiny_gpt(), "tp=2 pp=2"});
}

TEST(Computation, IsMeasuredForExpertsThatGetEquallyManyRows) {
  expect_every_work_measured({testing::tiny_mixtral(), "ep=2 dp=2"});
}

TEST(Computation, OfExpertsThatRanksShareIsRefused) {
  const Tiny tiny(testing::tiny_mixtral(), "tp=2 sp etp=2");
  ProfileBuilder profile;
  EXPECT_THROW(measure_computation(tiny.setup(), quick, profile), InputError);
}

TEST(Computation, StopsWhenProgressSaysSo) {
  const Tiny tiny(testing::tiny_gpt(), "dp=1");
  ProfileBuilder profile;
  ComputationOptions options = quick;
  options.progress = [](double) { return false; };
  EXPECT_TRUE(measure_computation(tiny.setup(), options, profile).stopped);
  EXPECT_EQ(profile.shapes(), 0u);
}

TEST(Communication, IsMeasuredForEveryCollectiveAndMessage) {
  const Tiny tiny(testing::tiny_gpt(), "tp=2 pp=2 dp=2");
  ProfileBuilder profile;
  EXPECT_EQ(measure_communication(tiny.graph, "cpu-core", {.repeats = 1}, profile), 1);
  std::set<MeasuredWork> works;
  for (const ProfileRow& row : profile.rows("a test")) {
    works.insert(row.kind.work);
    for (const MeasuredTime& time : row.times) EXPECT_GT(time.time.value, 0) << text(row.kind);
  }
  EXPECT_EQ(works, (std::set{MeasuredWork::Collective, MeasuredWork::Message}));
}

TEST(Communication, OfAllKindsAndAlgorithmsEnds) {
  for (int kind = 0; kind <= static_cast<int>(CollectiveKind::Shift); ++kind)
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::HalvingDoubling})
      EXPECT_GT(collective_time(CollectiveKind(kind), carried_by(CollectiveKind(kind), algorithm), 3,
                                Bytes(100), {.repeats = 1})
                    .value,
                0);
}

TEST(Sweep, CanBeExecuted) {
  for (const SweepCase& one : calibration_sweep(2)) {
    const ModelGraph model = build_model(one.spec);
    const Plan plan = resolve_plan(one.plan, one.spec, model, {2, 2});
    EXPECT_TRUE(check_executable(one.spec, model, plan).empty()) << one.spec.name;
  }
}

TEST(ProfileOfRecord, RefusesAPrediction) {
  RunRecord record;
  record.header.backend = "estimate";
  ProfileBuilder profile;
  EXPECT_THROW(add_record(record, "a.tandem", Library{}, profile), InputError);
}

TEST(Median, IsTheMiddle) {
  EXPECT_EQ(median({Seconds(3), Seconds(1), Seconds(2)}), Seconds(2));
  EXPECT_EQ(median({Seconds(4), Seconds(1), Seconds(2), Seconds(3)}), Seconds(2.5));
}

}  // namespace
}  // namespace tandem
