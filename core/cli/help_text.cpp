// Help for people at a terminal.
#include "core/cli/help_text.h"

#include <fmt/format.h>

#include "core/scenario/keys.h"

namespace tandem {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string names_of(const OptionSpec& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
  return option.value.empty() ? names : names + " " + option.value;
}

std::string names_of(const Key& key) {
  std::string names = key.alias.empty() ? flag_of(key) : alias_flag_of(key) + ", " + flag_of(key);
  switch (key.kind) {
    case KeyKind::Switch:
      return names;
    case KeyKind::Integer:
      return names + " N";
    case KeyKind::Real:
      return names + " X";
    case KeyKind::IntegerList:
      return names + " N,N,…";
    default:
      break;
  }
  std::string choices;
  for (const std::string& choice : key.choices) choices += (choices.empty() ? "" : "|") + choice;
  return names + " " + (choices.empty() ? "TEXT" : choices);
}

void options(const std::vector<OptionSpec>& list, Output& out) {
  for (const OptionSpec& option : list) out.line(fmt::format("  {:<28}  {}", names_of(option), option.help));
}

}  // namespace

void write_overview(Output& out) {
  out.line(out.styled("tandem", Style::Bold) +
           ": predicts distributed training steps from a model, a cluster and a plan");
  out.line();
  out.line("usage: tandem COMMAND [ARGUMENTS]");
  out.line();
  Rows rows;
  for (const CommandSpec& command : commands()) rows.push_back({command.name, command.summary});
  out.add(table(rows, {false, false}));
  out.line();
  out.line("tandem COMMAND --help explains a command; tandem --version prints the version.");
  out.line("A first prediction: tandem predict llama-3.1-8b-2xdgx-h100");
}

void write_help(const CommandSpec& command, Output& out) {
  for (const std::string& synopsis : command.synopsis)
    out.line(fmt::format("usage: tandem {} {}", command.name, synopsis));
  if (!command.details.empty()) {
    out.line();
    out.line(command.details);
  }
  if (!command.options.empty()) {
    out.line();
    out.line(out.styled("Options", Style::Bold));
    options(command.options, out);
  }
  if (command.takes_scenario) {
    out.line();
    out.line(out.styled("What is trained, and on what", Style::Bold));
    options(scenario_options(), out);
    for (const Section section : {Section::Plan, Section::Training, Section::Simulation, Section::Cost}) {
      out.line();
      out.line(out.styled(fmt::format("Keys of [{}]", name(section)), Style::Bold) +
               (section == Section::Plan ? ", in the file with underscores; switches also as --no-…" : ""));
      for (const Key& key : scenario_keys())
        if (key.section == section) {
          out.line("  " + names_of(key));
          out.line("      " + key.help);
        }
    }
    out.line();
    out.line(
        "Megatron-LM's own flags (--bf16, --use-distributed-optimizer, --num-layers, --lr, …) are understood "
        "as pasted.");
  }
  out.line();
  out.line(out.styled("Everywhere", Style::Bold));
  options(common_options(), out);
  if (command.examples.empty()) return;
  out.line();
  out.line(out.styled("Examples", Style::Bold));
  for (const std::string& example : command.examples) out.line("  " + example);
}

}  // namespace tandem
