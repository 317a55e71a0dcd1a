// libFuzzer target: no bytes, however broken, make the reader of config.json do anything but read or refuse them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/model/model_spec.h"
#include "core/problem/problem.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    tandem::parse_model(std::string(reinterpret_cast<const char*>(data), size), "config.json", "fuzz");
  } catch (const tandem::InputError&) {
    // The only fault that input may cause.
  }
  return 0;
}
