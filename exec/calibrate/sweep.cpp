// Small models and plans whose shapes others lie between.
#include "exec/calibrate/sweep.h"

#include <fmt/format.h>

namespace tandem {
namespace {

// Two layers say as much as many: kernels of all layers have equal shapes.
ModelSpec gpt(std::int64_t width, std::int64_t vocabulary) {
  return parse_model(
      fmt::format(R"({{"model_type":"gpt2","n_layer":2,"n_embd":{},"n_head":{},"n_positions":1024,)"
                  R"("vocab_size":{},"resid_pdrop":0.0,"attn_pdrop":0.0,"embd_pdrop":0.0}})",
                  width, width / 64, vocabulary),
      "sweep", fmt::format("gpt-{}", width));
}
ModelSpec llama(std::int64_t width, std::int64_t vocabulary) {
  return parse_model(
      fmt::format(
          R"({{"model_type":"llama","num_hidden_layers":2,"hidden_size":{},"num_attention_heads":{},)"
          R"("num_key_value_heads":{},"intermediate_size":{},"vocab_size":{},"tie_word_embeddings":false}})",
          width, width / 64, width / 128, width * 8 / 3 / 64 * 64, vocabulary),
      "sweep", fmt::format("llama-{}", width));
}

PlanSpec plan(std::int64_t ranks, std::int64_t sequences, std::int64_t length) {
  PlanSpec spec;
  spec.dtype = DType::Fp32;
  spec.data_parallel_size = ranks;
  spec.micro_batch_size = sequences;
  spec.global_batch_size = ranks * sequences;
  spec.seq_length = length;
  return spec;
}

}  // namespace

std::vector<SweepCase> calibration_sweep(std::int64_t ranks) {
  return {{gpt(256, 2048), plan(ranks, 1, 128)},   {gpt(256, 8192), plan(ranks, 4, 256)},
          {gpt(512, 2048), plan(ranks, 1, 256)},   {gpt(512, 16384), plan(ranks, 2, 512)},
          {gpt(768, 8192), plan(ranks, 1, 512)},   {gpt(1024, 4096), plan(ranks, 1, 1024)},
          {llama(256, 8192), plan(ranks, 2, 128)}, {llama(512, 4096), plan(ranks, 4, 256)},
          {llama(768, 16384), plan(ranks, 1, 512)}};
}

std::vector<Bytes> swept_sizes() {
  std::vector<Bytes> sizes;
  for (double size = 64; size <= 64.0 * (1 << 20); size *= 4) sizes.emplace_back(size);
  return sizes;
}

}  // namespace tandem
