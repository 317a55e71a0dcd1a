// Small configurations for tests, as text.
#pragma once
#include <string>

#include "core/model/model_spec.h"

namespace tandem {

// A tiny llama whose keys can be appended to or replaced by text.
inline std::string tiny_llama(const std::string& more = "") {
  return R"({
  "model_type": "llama",
  "hidden_size": 64,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "intermediate_size": 96,
  "vocab_size": 100)" +
         (more.empty() ? "" : ",\n  " + more) + "\n}\n";
}
// `text` with its first `from` replaced by `to`.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "no " + from : text.replace(at, from.size(), to);
}
inline ModelSpec parse(const std::string& text) { return parse_model(text, "config.json", "test"); }

}  // namespace tandem
