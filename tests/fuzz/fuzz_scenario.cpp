// libFuzzer target: no bytes make the readers of scenarios and launch scripts do anything but read or refuse
// them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/scenario/scenario.h"
#include "core/scenario/shell_snippet.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tandem::Library library = tandem::read_library(TANDEM_SOURCE_SCENARIOS);
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const tandem::Scenario scenario = tandem::parse_scenario(text, "fuzz.toml", {}, library);
    // What is read must also be written, and read again.
    tandem::parse_scenario(tandem::to_toml(scenario), "again.toml", {}, library);
  } catch (const tandem::InputError&) {
    // The only fault that input may cause.
  }
  tandem::Problems problems;
  tandem::arguments_of_snippet(text, "fuzz.sh", problems);
  return 0;
}
