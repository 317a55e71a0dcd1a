// Models of all families small enough to train for real in a test.
#pragma once
#include <string>

#include "tests/support/small_models.h"

namespace tandem::testing {

inline ModelSpec tiny_gpt(int layers = 4) {
  return parse(R"({"model_type":"gpt2","n_layer":)" + std::to_string(layers) +
                   R"(,"n_embd":64,"n_head":8,"n_positions":64,"vocab_size":200,"resid_pdrop":0.0,)"
                   R"("attn_pdrop":0.0,"embd_pdrop":0.0})",
               "tiny-gpt");
}
inline ModelSpec tiny_llama(int layers = 4) {
  return parse(
      R"({"model_type":"llama","num_hidden_layers":)" + std::to_string(layers) +
          R"(,"hidden_size":64,"num_attention_heads":8,"num_key_value_heads":4,"intermediate_size":96,)"
          R"("vocab_size":200,"tie_word_embeddings":false})",
      "tiny-llama");
}
inline ModelSpec tiny_mixtral(int layers = 4) {
  return parse(
      R"({"model_type":"mixtral","num_hidden_layers":)" + std::to_string(layers) +
          R"(,"hidden_size":64,"num_attention_heads":8,"num_key_value_heads":4,"intermediate_size":96,)"
          R"("vocab_size":200,"num_local_experts":8,"num_experts_per_tok":2})",
      "tiny-mixtral");
}
inline ModelSpec tiny_bert(int layers = 4) {
  return parse(R"({"model_type":"bert","add_pooling_layer":false,"num_hidden_layers":)" +
                   std::to_string(layers) +
                   R"(,"hidden_size":64,"num_attention_heads":8,"intermediate_size":128,"vocab_size":200,)"
                   R"("max_position_embeddings":64,"type_vocab_size":2,"hidden_dropout_prob":0.0,)"
                   R"("attention_probs_dropout_prob":0.0})",
               "tiny-bert");
}
// Without position biases, so that it can be cut into stages; `buckets` brings them.
inline ModelSpec tiny_t5(int layers = 2, int buckets = 0) {
  return parse(R"({"model_type":"t5","num_layers":)" + std::to_string(layers) +
                   R"(,"d_model":64,"num_heads":8,"d_kv":8,"d_ff":96,"vocab_size":200,"dropout_rate":0.0,)"
                   R"("relative_attention_num_buckets":)" +
                   std::to_string(buckets) + "}",
               buckets > 0 ? "tiny-t5-biased" : "tiny-t5");
}

}  // namespace tandem::testing
