// One published training run as its table states it; a blank cell is an absent value, never a zero.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/validate/csv_table.h"

namespace tandem {

struct RunRow {
  std::string id, set;  // the set is the id without its number: "korthikanti-t5" of "korthikanti-t5-0002"
  int line = 0;
  std::string model_name, gpu, inter_node_net, precision, recompute, attention, framework, notes, flops_formula,
      check, status;
  std::optional<double> params_b;  // billions
  std::optional<std::int64_t> layers, hidden, ffn_hidden, heads, kv_heads, vocab, seq_len, moe_experts,
      moe_topk;
  std::optional<std::int64_t> num_gpus, gpus_per_node, tp, pp, vpp, cp, ep, dp, zero_stage, sp, micro_batch,
      global_batch;
  std::optional<double> iteration_s, tokens_per_s_per_gpu, tflops_per_gpu, mfu, peak_mem_gb;
};

// Columns by name; unknown ones are left alone, as tables carry more than a prediction needs. Throws InputError
// (all faults at once) for cells that should be numbers and are none, and for tables without any of the columns
// that say what ran. A row without an id is named by its line.
std::vector<RunRow> run_rows(const CsvTable&);

}  // namespace tandem
