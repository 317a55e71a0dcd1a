// The manual page in roff.
#include <fmt/format.h>

#include "core/cli/help_text.h"
#include "core/scenario/keys.h"

namespace tandem {
namespace {

// Backslashes, and a dot or quote at the start of a line, mean something to roff.
std::string roff(const std::string& raw) {
  static constexpr std::string_view ellipsis = "\u2026";
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (std::string_view(raw).substr(i).starts_with(ellipsis)) {
      out += "...";
      i += ellipsis.size() - 1;
    } else if (raw[i] == '\\') {
      out += "\\e";
    } else if (raw[i] == '-') {
      out += "\\-";
    } else {
      out += raw[i];
    }
  }
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string names(const OptionSpec& option) {
  std::string all;
  for (const std::string& name : option.names)
    all += (all.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
  return option.value.empty() ? all : all + fmt::format(" \\fI{}\\fR", roff(option.value));
}

void options(const std::vector<OptionSpec>& list, std::string& page) {
  for (const OptionSpec& option : list) page += fmt::format(".TP\n{}\n{}\n", names(option), roff(option.help));
}

}  // namespace

std::string manual_page() {
  std::string page = fmt::format(".TH TANDEM 1 \"\" \"tandem {}\" \"User Commands\"\n", TANDEM_VERSION);
  page += ".SH NAME\ntandem \\- predicts distributed training steps\n";
  page += ".SH SYNOPSIS\n.B tandem\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n";
  page +=
      ".SH DESCRIPTION\nTakes a model, a cluster and a parallel plan, lowers them into the tasks of one "
      "training step, plays "
      "them on the modelled cluster, and reports step time, memory, cost and a timeline.\n";
  page += ".SH COMMANDS\n";
  for (const CommandSpec& command : commands()) {
    page += fmt::format(".SS tandem {}\n", roff(command.name));
    for (const std::string& synopsis : command.synopsis)
      page += fmt::format("\\fBtandem {}\\fR {}\n.br\n", roff(command.name), roff(synopsis));
    page += fmt::format("{}\n", roff(command.details.empty() ? command.summary : command.details));
    options(command.options, page);
  }
  page += ".SH OPTIONS OF EVERY COMMAND\n";
  options(common_options(), page);
  page += ".SH WHAT IS TRAINED, AND ON WHAT\n";
  options(scenario_options(), page);
  for (const Section section : {Section::Plan, Section::Training, Section::Simulation, Section::Cost}) {
    page += fmt::format(".SH KEYS OF [{}]\n", std::string(name(section)));
    for (const Key& key : scenario_keys()) {
      if (key.section != section) continue;
      std::string title = fmt::format("\\fB{}\\fR", roff(key.name));
      if (!key.alias.empty()) title += fmt::format(", \\fB{}\\fR", roff(key.alias));
      std::string choices;
      for (const std::string& choice : key.choices) choices += (choices.empty() ? "" : ", ") + choice;
      page += fmt::format(".TP\n{}\n{}{}\n", title, roff(key.help),
                          choices.empty() ? "" : roff(" (" + choices + ")"));
    }
  }
  page +=
      ".SH EXIT STATUS\n.TP\n0\nsuccess, also when the plan does not fit in memory\n.TP\n2\nthe input is "
      "wrong\n.TP\n3\nthe "
      "surroundings failed: files, memory, a missing program\n.TP\n70\na fault of tandem "
      "itself\n.TP\n130\ninterrupted\n";
  page +=
      ".SH ENVIRONMENT\n.TP\n\\fBTANDEM_SCENARIOS\\fR\nfolder of models, clusters and "
      "calibrations\n.TP\n\\fBNO_COLOR\\fR\nno "
      "colours\n";
  page += ".SH EXAMPLES\n.nf\n";
  for (const CommandSpec& command : commands())
    for (const std::string& example : command.examples) page += roff(example) + "\n";
  page += ".fi\n";
  return page;
}

}  // namespace tandem
