// Writes a resolved scenario as canonical TOML.
#include "core/scenario/sections.h"

namespace tandem {

std::string to_toml(const Scenario& scenario) {
  std::string out =
      "[model]\nname = " + quoted(scenario.model.name) + "\nconfig = " + quoted(scenario.model_text) + "\n\n";
  out += cluster_to_toml(scenario.cluster);
  Section open = Section::Cost;
  bool any = false;
  for (const Key& key : scenario_keys()) {
    const std::string literal = key.get(scenario);
    // A calibration folder is a place on one machine; its constants are named where they are used.
    if (literal.empty() || key.name == "calibration") continue;
    if (!any || key.section != open) out += "\n[" + std::string(name(key.section)) + "]\n";
    open = key.section;
    any = true;
    out += key.name + " = " + literal + "\n";
  }
  return out;
}

}  // namespace tandem
