// libFuzzer target: no bytes, however broken, make the reader of config.json do anything but read or refuse
// them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/model/model_spec.h"
#include "core/problem/problem.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const tandem::ModelSpec spec =
        tandem::parse_model(std::string(reinterpret_cast<const char*>(data), size), "config.json", "fuzz");
    // What is read must also build: a broken invariant throws what nobody catches here.
    if (spec.num_hidden_layers + spec.encoder_layers <= 64) tandem::build_model(spec);
  } catch (const tandem::InputError&) {
    // The only fault that input may cause.
  }
  return 0;
}
