// Reads the cells of a table of runs.
#include "core/validate/run_row.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/problem/problem.h"

namespace tandem {
namespace {

class CellReader {
 public:
  CellReader(const CsvTable& table, const CsvTable::Row& row, Problems& problems)
      : table_(table), row_(row), problems_(problems) {}

  std::string text(std::string_view column) const { return std::string(table_.cell(row_, column)); }

  std::optional<double> number(std::string_view column) const {
    const std::string_view cell = table_.cell(row_, column);
    if (cell.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc() && end == cell.data() + cell.size() && std::isfinite(value) && value >= 0)
      return value;
    problems_.add({.file = table_.path, .line = row_.line},
                  fmt::format("{} = {:.40}: a number that is not negative is wanted", column, cell),
                  "leave the cell empty where the value is not known");
    return std::nullopt;
  }

  std::optional<std::int64_t> whole(std::string_view column) const {
    const std::optional<double> value = number(column);
    if (!value) return std::nullopt;
    if (*value == std::floor(*value) && *value < 9e15) return static_cast<std::int64_t>(*value);
    problems_.add({.file = table_.path, .line = row_.line},
                  fmt::format("{} = {}: a whole number is wanted", column, *value), "");
    return std::nullopt;
  }

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
  Problems& problems_;
};

std::string set_of(const std::string& id) {
  const std::size_t dash = id.rfind('-');
  if (dash == std::string::npos || dash == 0 || dash + 1 == id.size()) return id;
  for (std::size_t i = dash + 1; i < id.size(); ++i)
    if (id[i] < '0' || id[i] > '9') return id;
  return id.substr(0, dash);
}

}  // namespace

std::vector<RunRow> run_rows(const CsvTable& table) {
  Problems problems;
  for (const char* column : {"layers", "hidden", "gpu", "num_gpus"})
    if (!table.has(column))
      problems.add({.file = table.path, .line = 1}, fmt::format("the table has no column {}", column),
                   "a table of runs says at least which model ran on which devices");
  problems.throw_if_any();
  std::vector<RunRow> rows;
  for (const CsvTable::Row& cells : table.rows) {
    const CellReader read(table, cells, problems);
    RunRow row;
    row.line = cells.line;
    row.id = read.text("id");
    row.framework = read.text("framework");
    if (row.id.empty()) row.id = fmt::format("line {}", cells.line);
    row.set = read.text("id").empty() ? (row.framework.empty() ? "rows" : row.framework) : set_of(row.id);
    row.model_name = read.text("model_name");
    row.gpu = read.text("gpu");
    row.inter_node_net = read.text("inter_node_net");
    row.precision = read.text("precision");
    row.recompute = read.text("recompute");
    row.attention = read.text("attention");
    row.notes = read.text("notes");
    row.flops_formula = read.text("flops_formula");
    row.check = read.text("check");
    row.status = read.text("status");
    row.params_b = read.number("params_B");
    row.layers = read.whole("layers");
    row.hidden = read.whole("hidden");
    row.ffn_hidden = read.whole("ffn_hidden");
    row.heads = read.whole("heads");
    row.kv_heads = read.whole("kv_heads");
    row.vocab = read.whole("vocab");
    row.seq_len = read.whole("seq_len");
    row.moe_experts = read.whole("moe_experts");
    row.moe_topk = read.whole("moe_topk");
    row.num_gpus = read.whole("num_gpus");
    row.gpus_per_node = read.whole("gpus_per_node");
    row.tp = read.whole("tp");
    row.pp = read.whole("pp");
    row.vpp = read.whole("vpp");
    row.cp = read.whole("cp");
    row.ep = read.whole("ep");
    row.dp = read.whole("dp");
    row.zero_stage = read.whole("zero_stage");
    row.sp = read.whole("sp");
    row.micro_batch = read.whole("micro_batch");
    row.global_batch = read.whole("global_batch");
    row.iteration_s = read.number("iteration_s");
    row.tokens_per_s_per_gpu = read.number("tokens_per_s_per_gpu");
    row.tflops_per_gpu = read.number("tflops_per_gpu");
    row.mfu = read.number("mfu");
    row.peak_mem_gb = read.number("peak_mem_GB");
    rows.push_back(std::move(row));
  }
  problems.throw_if_any();
  return rows;
}

}  // namespace tandem
