// Plans drawn at random from all forms of parallelism train as one rank does.
#include <gtest/gtest.h>

#include <random>

#include "core/problem/problem.h"
#include "tests/exec/execute/same_training.h"

namespace tandem {
namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  std::string plan(bool experts) {
    text_.clear();
    const int tp = number("tp", {1, 1, 2, 4});
    if (tp > 1) maybe("sp");
    const int cp = number("cp", {1, 1, 1, 2, 4});
    if (cp > 1) choice("cp_comm", {"ring", "gather", "ulysses"});
    const int pp = number("pp", {1, 1, 2, 2, 4});
    const int dp = number("dp", {1, 2, 2, 4});
    if (experts) {
      number("ep", {1, 2, 2, 4});
      number("etp", {1, 1, 2});
    }
    ranks = tp * cp * pp * dp;
    if (pp > 1) {
      const std::string schedule =
          choice("schedule", {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe"});
      if (schedule == "interleaved") text_ += " vpp=2";
      if (pp > 2) maybe("blocking_p2p");
    }
    number("gbs", {8, 16});
    number("mbs", {1, 1, 2});
    if (number("zero", {0, 1, 2, 3}) == 3 && dp == 4) number("sharding", {0, 2});
    if (maybe("overlap")) number("bucket", {0, 9000, 30000});
    maybe("overlap_gather");
    if (maybe("early_gradients")) {
    }
    if (cp == 1) maybe("unfused");
    const std::string recompute = one({"", "", "selective", "full"});
    if (!recompute.empty()) text_ += " recompute=" + recompute;
    if (recompute == "selective") {
      const std::string module =
          one({"", "mlp", "layernorm", experts ? "moe" : "mlp", experts ? "moe_act" : "layernorm"});
      if (!module.empty()) text_ += " module=" + module;
    }
    return text_;
  }
  int ranks = 1;

 private:
  template <class T>
  T one(std::initializer_list<T> values) {
    return *(values.begin() + random_() % values.size());
  }
  std::string one(std::initializer_list<const char*> values) { return one<const char*>(values); }
  int number(const std::string& key, std::initializer_list<int> values) {
    const int value = one<int>(values);
    text_ += " " + key + "=" + std::to_string(value);
    return value;
  }
  std::string choice(const std::string& key, std::initializer_list<const char*> values) {
    const std::string value = one(values);
    text_ += " " + key + "=" + value;
    return value;
  }
  bool maybe(const std::string& word) {
    if (random_() % 2 == 0) return false;
    text_ += " " + word;
    return true;
  }

  std::mt19937 random_;
  std::string text_;
};

// A share of the plans for each shard of the test, so that a slow machine can run them side by side.
void expect_random_plans_train(const ModelSpec& spec, unsigned seed, int wanted) {
  if (testing::instrumented) wanted = (wanted + 3) / 4;
  Draw draw(seed);
  const ModelGraph model = build_model(spec);
  int ran = 0;
  for (int tried = 0; ran < wanted && tried < 4000; ++tried) {
    const std::string text = draw.plan(model.has_experts());
    if (draw.ranks < 2 || draw.ranks > 8) continue;
    try {
      const Plan plan = testing::tiny_plan(spec, model, testing::plan_of(text));
      if (!check_executable(spec, model, plan).empty()) continue;
    } catch (const InputError&) {
      continue;  // refused by name: not this test's concern
    }
    ++ran;
    EXPECT_EQ(testing::difference(spec, text), "") << spec.name << text;
  }
  EXPECT_EQ(ran, wanted);
}

TEST(RandomTraining, Gpt) { expect_random_plans_train(testing::tiny_gpt(), 1, 14); }
TEST(RandomTraining, Llama) { expect_random_plans_train(testing::tiny_llama(), 2, 14); }
TEST(RandomTraining, Mixtral) { expect_random_plans_train(testing::tiny_mixtral(), 3, 16); }
TEST(RandomTraining, Bert) { expect_random_plans_train(testing::tiny_bert(), 4, 10); }
TEST(RandomTraining, T5) { expect_random_plans_train(testing::tiny_t5(), 5, 10); }

}  // namespace
}  // namespace tandem
