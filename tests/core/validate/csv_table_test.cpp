// Tables as they are published: quotes, line breaks inside fields, rows that do not fit.
#include "core/validate/csv_table.h"

#include <gtest/gtest.h>

#include "core/problem/problem.h"

namespace tandem {
namespace {

TEST(CsvTable, FieldsInQuotesMayHoldCommasQuotesAndLineBreaks) {
  const CsvTable table = parse_csv("id,notes\na,\"8 x 400, \"\"NDR\"\"\nbehind\"\nb,\n", "t.csv");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.cell(table.rows[0], "notes"), "8 x 400, \"NDR\"\nbehind");
  EXPECT_EQ(table.cell(table.rows[1], "notes"), "");
}

TEST(CsvTable, LinesAreCountedThroughQuotedFields) {
  const CsvTable table = parse_csv("id,notes\na,\"1\n2\"\nb,x\n", "t.csv");
  EXPECT_EQ(table.rows[1].line, 4);
}

TEST(CsvTable, AColumnThatIsNotThereIsEmpty) {
  const CsvTable table = parse_csv("id\na\n", "t.csv");
  EXPECT_EQ(table.cell(table.rows[0], "gpu"), "");
  EXPECT_FALSE(table.has("gpu"));
}

TEST(CsvTable, AllRowsOfAWrongWidthAreReportedAtOnce) {
  try {
    parse_csv("id,gpu\na\nb,c,d\ne,f\n", "t.csv");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    ASSERT_EQ(error.problems().size(), 2u);
    EXPECT_EQ(error.problems()[0].where.line, 2);
    EXPECT_EQ(error.problems()[1].where.line, 3);
  }
}

TEST(CsvTable, ColumnsThatStandTwiceAndQuotesThatDoNotCloseAreRefused) {
  EXPECT_THROW(parse_csv("id,id\na,b\n", "t.csv"), InputError);
  EXPECT_THROW(parse_csv("id\n\"a\n", "t.csv"), InputError);
  EXPECT_THROW(parse_csv("", "t.csv"), InputError);
}

TEST(CsvTable, WindowsLineEndsAndAByteOrderMarkDoNotShow) {
  const CsvTable table = parse_csv("\xEF\xBB\xBFid,gpu\r\na,H100\r\n", "t.csv");
  EXPECT_EQ(table.columns[0], "id");
  EXPECT_EQ(table.cell(table.rows[0], "gpu"), "H100");
}

TEST(CsvField, IsQuotedOnlyWhereItMustBe) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
}

}  // namespace
}  // namespace tandem
