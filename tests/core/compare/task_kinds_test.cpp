// Labels without the numbers of layers and buckets.
#include "core/compare/task_kinds.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(KindName, LeavesLayersAndBucketsOut) {
  EXPECT_EQ(kind_name("L12.mlp.up"), "mlp.up");
  EXPECT_EQ(kind_name("gradients 3.reduce_scatter"), "gradients.reduce_scatter");
  EXPECT_EQ(kind_name("parameters.0.3.all_gather"), "parameters.all_gather");
  EXPECT_EQ(kind_name("optimizer"), "optimizer");
}
TEST(KindName, OfNumbersAloneStaysWhatItIs) { EXPECT_EQ(kind_name("7"), "7"); }

}  // namespace
}  // namespace tandem
