// Completion scripts for bash, zsh and fish.
#include <fmt/format.h>

#include "core/cli/arguments.h"
#include "core/cli/help_text.h"
#include "core/scenario/keys.h"

namespace tandem {
namespace {

// A flag with the words that may follow it.
struct Flag {
  std::vector<std::string> names;
  std::string help;
  std::vector<std::string> choices;
  bool takes_value = false, takes_file = false;
};

std::vector<Flag> flags_of(const CommandSpec& command) {
  std::vector<Flag> flags;
  const auto add = [&](const std::vector<OptionSpec>& options) {
    for (const OptionSpec& option : options)
      flags.push_back({option.names, option.help, option.choices, !option.value.empty(),
                       option.value == "FILE" || option.value == "OUT" || option.value == "DIR"});
  };
  add(command.options);
  add(common_options());
  if (!command.takes_scenario) return flags;
  add(scenario_options());
  for (const Key& key : scenario_keys()) {
    Flag flag{{flag_of(key)}, key.help, key.choices, key.kind != KeyKind::Switch, false};
    if (!key.alias.empty()) flag.names.push_back(alias_flag_of(key));
    flags.push_back(flag);
  }
  return flags;
}

std::string joined(const std::vector<std::string>& words, std::string_view by = " ") {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : std::string(by)) + word;
  return all;
}

// Text inside single quotes of a shell.
std::string shell_quoted(const std::string& raw) {
  std::string out = "'";
  for (const char c : raw) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_names() {
  std::vector<std::string> names;
  for (const CommandSpec& command : commands()) names.push_back(command.name);
  return joined(names);
}

std::string bash() {
  std::string script =
      "# bash completion for tandem\n_tandem() {\n  local current=\"${COMP_WORDS[COMP_CWORD]}\" "
      "previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n  if [[ $COMP_CWORD -eq 1 ]]; then\n";
  script +=
      fmt::format("    COMPREPLY=($(compgen -W {} -- \"$current\"))\n    return\n  fi\n  local flags=\"\"\n",
                  shell_quoted(command_names() + " --help --version"));
  script += "  case \"${COMP_WORDS[1]}\" in\n";
  for (const CommandSpec& command : commands()) {
    script += fmt::format("    {})\n      case \"$previous\" in\n", command.name);
    std::vector<std::string> names;
    for (const Flag& flag : flags_of(command)) {
      names.insert(names.end(), flag.names.begin(), flag.names.end());
      if (!flag.choices.empty())
        script += fmt::format("        {}) COMPREPLY=($(compgen -W {} -- \"$current\")); return ;;\n",
                              joined(flag.names, "|"), shell_quoted(joined(flag.choices)));
      else if (flag.names[0] == "--model")
        script +=
            "        --model) COMPREPLY=($(compgen -W \"$(tandem models --json 2>/dev/null | grep -o '\"id\": "
            "*\"[^\"]*\"' | "
            "cut -d'\"' -f4)\" -- \"$current\") $(compgen -f -- \"$current\")); return ;;\n";
      else if (flag.takes_file)
        script += fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n",
                              joined(flag.names, "|"));
    }
    script += fmt::format("      esac\n      flags={} ;;\n", shell_quoted(joined(names)));
  }
  script +=
      "  esac\n  if [[ \"$current\" == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n "
      " else\n    "
      "case \"${COMP_WORDS[1]}\" in\n      completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- "
      "\"$current\")) ;;\n";
  script += fmt::format("      help) COMPREPLY=($(compgen -W {} -- \"$current\")) ;;\n",
                        shell_quoted(command_names()));
  script +=
      "      *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n    esac\n  fi\n}\ncomplete -o filenames -F "
      "_tandem tandem\n";
  return script;
}

// Brackets and colons mean something in the specifications of _arguments.
std::string zsh_text(const std::string& raw) {
  std::string out;
  for (const char c : raw) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh() {
  std::string script =
      "#compdef tandem\n# zsh completion for tandem\n_tandem() {\n  if (( CURRENT == 2 )); then\n    local -a "
      "names=(\n";
  for (const CommandSpec& command : commands())
    script += fmt::format("      {}\n", shell_quoted(command.name + ":" + zsh_text(command.summary)));
  script +=
      "    )\n    _describe command names\n    return\n  fi\n  local name=$words[2]\n  shift words\n  (( "
      "CURRENT-- ))\n  "
      "case $name in\n";
  for (const CommandSpec& command : commands()) {
    script += fmt::format("    {})\n      _arguments -s", command.name);
    for (const Flag& flag : flags_of(command)) {
      std::string after;
      if (!flag.choices.empty())
        after = ":value:(" + joined(flag.choices) + ")";
      else if (flag.takes_file)
        after = ":file:_files";
      else if (flag.takes_value)
        after = ":value:";
      for (const std::string& name : flag.names)
        script += fmt::format(" \\\n        {}", shell_quoted(name + "[" + zsh_text(flag.help) + "]" + after));
    }
    if (command.operand == "shell")
      script += " \\\n        '1:shell:(bash zsh fish)'";
    else if (command.operand == "command")
      script += fmt::format(" \\\n        '1:command:({})'", command_names());
    else if (command.most_operands > 0)
      script += " \\\n        '*:file:_files'";
    script += " ;;\n";
  }
  return script + "  esac\n}\n_tandem \"$@\"\n";
}

std::string fish() {
  std::string script = "# fish completion for tandem\n";
  for (const CommandSpec& command : commands())
    script += fmt::format("complete -c tandem -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          shell_quoted(command.summary));
  for (const CommandSpec& command : commands()) {
    const std::string when = shell_quoted("__fish_seen_subcommand_from " + command.name);
    for (const Flag& flag : flags_of(command)) {
      std::string line = fmt::format("complete -c tandem -n {}", when);
      for (const std::string& name : flag.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (flag.takes_file)
        line += " -r -F";
      else if (!flag.choices.empty())
        line += " -x -a " + shell_quoted(joined(flag.choices));
      else if (flag.takes_value)
        line += " -x";
      script += line + " -d " + shell_quoted(flag.help) + "\n";
    }
    if (command.operand == "shell")
      script += fmt::format("complete -c tandem -n {} -x -a 'bash zsh fish'\n", when);
    else if (command.operand == "scenario" || command.operand == "record")
      script += fmt::format("complete -c tandem -n {} -F\n", when);
  }
  return script;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return bash();
  if (shell == "zsh") return zsh();
  if (shell == "fish") return fish();
  refuse({},
         shell.empty() ? "no shell is named"
                       : fmt::format("{} is no shell that completions are written for", text(KeyValue{shell})),
         "use bash, zsh or fish");
}

}  // namespace tandem
