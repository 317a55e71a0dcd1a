// Parses a command line by the tables of commands, keys and Megatron-LM's flags.
#include "core/cli/arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/scenario/keys.h"
#include "core/scenario/shell_snippet.h"

namespace tandem {
namespace {

constexpr std::size_t most_script_bytes = 4u << 20;

// "-1" and "-" are values; "-o" and "--json" are flags.
bool is_flag(const std::string& word) {
  return word.size() >= 2 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 &&
         word[1] != '.';
}

std::string read_standard_input() {
  std::string all;
  char block[1 << 16];
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, block, sizeof block);
    if (count <= 0) return all;
    all.append(block, static_cast<std::size_t>(count));
    if (all.size() > most_script_bytes) refuse({"standard input", 0, 0}, "has more than 4 MiB");
  }
}

class Parser {
 public:
  explicit Parser(const CommandSpec& command) : command_(command) { arguments_.command = &command; }

  Arguments parse(const std::vector<std::string>& words) {
    std::vector<Word> placed;
    for (const std::string& word : words) placed.push_back({word, {}});
    run(placed, false);
    // A word after an unknown flag may be its value.
    if (arguments_.operands.size() > command_.most_operands && problems_.empty())
      problems_.add(
          {}, fmt::format("unexpected {}", text(KeyValue{arguments_.operands[command_.most_operands]})),
          command_.most_operands == 0 ? fmt::format("tandem {} takes flags only", command_.name)
                                      : fmt::format("tandem {} takes one {}", command_.name, command_.operand));
    if (!arguments_.has("--help")) problems_.throw_if_any();
    return std::move(arguments_);
  }

 private:
  void run(const std::vector<Word>& words, bool inside_script) {
    for (std::size_t at = 0; at < words.size();) {
      const Word& word = words[at++];
      if (!inside_script && word.text == "--") {
        while (at < words.size()) arguments_.operands.push_back(words[at++].text);
        return;
      }
      if (!is_flag(word.text)) {
        if (!inside_script)
          arguments_.operands.push_back(word.text);
        else if (!word.text.ends_with(".py"))  // the program that the launcher starts
          problems_.add(word.where, fmt::format("{} belongs to no flag", text(KeyValue{word.text})), "");
        continue;
      }
      flag(words, at, inside_script);
    }
  }

  // The flag before `at`; takes its values.
  void flag(const std::vector<Word>& words, std::size_t& at, bool inside_script) {
    const Word& word = words[at - 1];
    std::string name = word.text;
    std::optional<std::string> joined;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != std::string::npos) {
      joined = name.substr(equals + 1);
      name.resize(equals);
    }
    if (!inside_script)
      for (const std::vector<OptionSpec>* options :
           {&command_.options, command_.takes_scenario ? &scenario_options() : nullptr, &common_options()})
        if (options != nullptr)
          for (const OptionSpec& option : *options)
            if (std::find(option.names.begin(), option.names.end(), name) != option.names.end())
              return take_option(option, name, joined, words, at);
    if (!command_.takes_scenario) return unknown(word, name);
    if (const MegatronFlag* megatron = find_megatron_flag(name))
      return take_megatron(*megatron, word, joined, words, at);
    if (name.starts_with("--")) {
      if (const Key* key = find_key(name.substr(2))) return take_key(*key, name, true, joined, words, at);
      if (name.starts_with("--no-"))
        if (const Key* key = find_key(name.substr(5)); key != nullptr && key->kind == KeyKind::Switch)
          return take_key(*key, name, false, joined, words, at);
    }
    unknown(word, name);
  }

  void unknown(const Word& word, const std::string& name) {
    const std::string near = name.size() <= 200 ? nearest_name(name, flag_names(command_)) : "";
    problems_.add(word.where, fmt::format("unknown flag {}", name.size() <= 60 ? name : text(KeyValue{name})),
                  near.empty() ? fmt::format("tandem {} --help lists the flags", command_.name)
                               : fmt::format("did you mean {}?", near));
  }

  // The next word as the flag's value; empty when there is none.
  std::optional<std::string> next_value(const std::vector<Word>& words, std::size_t& at,
                                        const std::string& name, const std::string& what) {
    if (at < words.size() && !is_flag(words[at].text)) return words[at++].text;
    problems_.add(at > 0 ? words[at - 1].where : Where{}, fmt::format("{} needs a value: {}", name, what));
    return std::nullopt;
  }

  void take_option(const OptionSpec& option, const std::string& name, const std::optional<std::string>& joined,
                   const std::vector<Word>& words, std::size_t& at) {
    const std::string& id = option.names.front();
    std::string value;
    if (option.value.empty()) {
      if (joined) problems_.add({}, fmt::format("{} takes no value", name));
    } else {
      const auto given = joined ? joined : next_value(words, at, name, option.value);
      if (!given) return;
      value = *given;
    }
    if (!option.choices.empty() &&
        std::find(option.choices.begin(), option.choices.end(), value) == option.choices.end()) {
      std::string all;
      for (const std::string& choice : option.choices) all += (all.empty() ? "" : ", ") + choice;
      const std::string near = nearest_name(value, option.choices);
      problems_.add({}, fmt::format("{} {} is not one of {}", name, text(KeyValue{value}), all),
                    near.empty() ? "" : fmt::format("did you mean {}?", near));
      return;
    }
    std::vector<std::string>& values = arguments_.options[id];
    if (!option.repeated && !option.value.empty() && !values.empty() && values.back() != value)
      problems_.add({}, fmt::format("{} is given twice: {} and {}", id, text(KeyValue{values.back()}),
                                    text(KeyValue{value})));
    values.push_back(value);
    if (command_.takes_scenario) take_scenario_option(id, value);
  }

  void take_scenario_option(const std::string& id, const std::string& value) {
    if (id == "--model") {
      arguments_.overrides.push_back({"model", value, {}});
      arguments_.has_model = true;
    } else if (id == "--cluster") {
      arguments_.overrides.push_back({"cluster", value, {}});
      arguments_.has_cluster = true;
    } else if (id == "--nodes") {
      arguments_.overrides.push_back({"nodes", value, {}});
    } else if (id == "--set") {
      const std::size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0) {
        problems_.add({}, fmt::format("--set {} is not KEY=VALUE", text(KeyValue{value})), "as in --set tp=8");
        return;
      }
      const std::string key = value.substr(0, equals);
      arguments_.overrides.push_back({key, value.substr(equals + 1), {}});
      arguments_.has_model = arguments_.has_model || key == "model" || key == "model.config";
      arguments_.has_cluster = arguments_.has_cluster || key == "cluster" || key == "cluster.preset";
    } else if (id == "--megatron-args") {
      read_script(value);
    }
  }

  void read_script(const std::string& path) {
    try {
      const std::string script = path == "-" ? read_standard_input() : read_text_file(path, most_script_bytes);
      const std::vector<Word> words =
          arguments_of_snippet(script, path == "-" ? "standard input" : path, problems_);
      if (words.empty() && problems_.empty())
        problems_.add({path, 0, 0}, "holds no flags", "a launch script of Megatron-LM is wanted");
      run(words, true);
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) problems_.add(problem);
    }
  }

  void take_key(const Key& key, const std::string& name, bool positive,
                const std::optional<std::string>& joined, const std::vector<Word>& words, std::size_t& at) {
    const Where where = words[at - 1].where;
    if (key.kind == KeyKind::Switch) {
      std::string value = positive ? "true" : "false";
      if (joined && positive)
        value = *joined;
      else if (joined)
        problems_.add(where, fmt::format("{} takes no value", name));
      arguments_.overrides.push_back({key.name, value, where});
      return;
    }
    const std::string what = key.unit.empty() ? "see tandem " + command_.name + " --help" : key.unit;
    const auto first = joined ? joined : next_value(words, at, name, what);
    if (!first) return;
    std::string value = *first;
    // Megatron's lists are several words.
    const bool list = key.kind == KeyKind::IntegerList || key.kind == KeyKind::ChoiceList;
    while (list && !joined && at < words.size() && continues(key, words[at].text))
      value += "," + words[at++].text;
    arguments_.overrides.push_back({key.name, value, where});
  }

  static bool continues(const Key& key, const std::string& word) {
    if (key.kind == KeyKind::ChoiceList)
      return std::find(key.choices.begin(), key.choices.end(), word) != key.choices.end();
    return !word.empty() && word.find_first_not_of("0123456789,") == std::string::npos;
  }

  void take_megatron(const MegatronFlag& flag, const Word& word, const std::optional<std::string>& joined,
                     const std::vector<Word>& words, std::size_t& at) {
    std::vector<std::string> values;
    if (joined) {
      values.push_back(*joined);
    } else if (flag.values > 0) {
      const auto value = next_value(words, at, flag.name, "see Megatron-LM's arguments");
      if (!value) return;
      values.push_back(*value);
    } else if (flag.values < 0) {
      while (at < words.size() && !is_flag(words[at].text)) values.push_back(words[at++].text);
    }
    take_megatron_flag(flag, word.where, values, arguments_.megatron, problems_);
  }

  const CommandSpec& command_;
  Arguments arguments_;
  Problems problems_;
};

}  // namespace

std::string Arguments::value(const std::string& name) const {
  const auto found = options.find(name);
  return found == options.end() || found->second.empty() ? "" : found->second.back();
}

std::optional<std::int64_t> Arguments::number(const std::string& name, std::int64_t low,
                                              std::int64_t high) const {
  if (!has(name)) return std::nullopt;
  const std::string typed = value(name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
  if (error == std::errc() && end == typed.data() + typed.size() && number >= low && number <= high)
    return number;
  refuse({},
         fmt::format("{} {}: a whole number from {} to {} is wanted", name, text(KeyValue{typed}), low, high));
}

Arguments parse_arguments(const CommandSpec& command, const std::vector<std::string>& words) {
  return Parser(command).parse(words);
}

std::vector<std::string> flag_names(const CommandSpec& command) {
  std::vector<std::string> names;
  const auto add = [&](const std::vector<OptionSpec>& options) {
    for (const OptionSpec& option : options)
      names.insert(names.end(), option.names.begin(), option.names.end());
  };
  add(command.options);
  if (command.takes_scenario) {
    add(scenario_options());
    for (const Key& key : scenario_keys()) {
      names.push_back(flag_of(key));
      if (!key.alias.empty()) names.push_back(alias_flag_of(key));
    }
    for (const MegatronFlag& flag : megatron_flags()) names.push_back(flag.name);
  }
  add(common_options());
  return names;
}

}  // namespace tandem
