// Finds the command, runs it, and turns what went wrong into a message and an exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <new>

#include "core/cli/cli.h"
#include "core/cli/help_text.h"
#include "core/cli/run_context.h"

namespace tandem {
namespace {

void say(const std::string& message) {
  const std::string line = message + "\n";
  std::size_t at = 0;
  while (at < line.size()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data() + at, line.size() - at);
    if (written <= 0) return;  // nobody is left to hear it
    at += static_cast<std::size_t>(written);
  }
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandSpec& command : commands()) names.push_back(command.name);
  return names;
}

[[noreturn]] void refuse_command(const std::string& typed) {
  const std::string near = typed.size() <= 200 ? nearest_name(typed, command_names()) : "";
  refuse({}, fmt::format("unknown {} {}", typed.starts_with('-') ? "flag" : "command", text(KeyValue{typed})),
         near.empty() ? "tandem --help lists the commands" : fmt::format("did you mean {}?", near));
}

int run_command(RunContext& run) {
  const Arguments& arguments = run.arguments;
  const auto first = [&] { return arguments.operands.empty() ? std::string() : arguments.operands.front(); };
  switch (arguments.command->id) {
    case CommandId::Predict:
      return run_predict(run);
    case CommandId::Run:
      return run_run(run);
    case CommandId::Calibrate:
      return run_calibrate(run);
    case CommandId::Show:
      return run_show(run);
    case CommandId::Compare:
      return run_compare(run);
    case CommandId::Export:
      return run_export(run);
    case CommandId::Collective:
      return run_collective(run);
    case CommandId::Check:
      return run_check(run);
    case CommandId::Validate:
      return run_validate(run);
    case CommandId::Models:
      return run_models(run);
    case CommandId::Clusters:
      return run_clusters(run);
    case CommandId::Schedules:
      return run_schedules(run);
    case CommandId::Completion:
      run.out.add(completion_script(first()));
      return 0;
    case CommandId::Manual:
      run.out.add(manual_page());
      return 0;
    case CommandId::Help:
      if (first().empty())
        write_overview(run.out);
      else if (const CommandSpec* command = find_command(first()))
        write_help(*command, run.out);
      else
        refuse_command(first());
      return 0;
  }
  return exit_fault;
}

bool colours(const std::string& when, const Surroundings& surroundings) {
  if (when == "always") return true;
  return when != "never" && surroundings.colour_allowed && surroundings.output_is_terminal;
}

// The common options may stand before the command.
struct Split {
  std::vector<std::string> before, after;
  std::string command;
};
Split split(int argc, char** argv) {
  Split words;
  int at = 1;
  for (; at < argc; ++at) {
    const std::string word = argv[at];
    if (!word.starts_with('-')) break;
    words.before.push_back(word);
    if ((word == "--color" || word == "--scenarios") && at + 1 < argc) words.before.emplace_back(argv[++at]);
  }
  if (at < argc) words.command = argv[at++];
  for (; at < argc; ++at) words.after.emplace_back(argv[at]);
  return words;
}

int run(int argc, char** argv, const Surroundings& surroundings, const Backends& backends) {
  Split words = split(argc, argv);
  Output out(colours("auto", surroundings));
  const auto has = [&](const char* flag) {
    return std::find(words.before.begin(), words.before.end(), flag) != words.before.end();
  };
  if (has("--version")) {
    out.line(fmt::format("tandem {}", TANDEM_VERSION));
    out.flush();
    return 0;
  }
  if (words.command.empty()) {
    for (const std::string& word : words.before)
      if (word != "--help" && word != "-h") refuse_command(word);
    if (!has("--help") && !has("-h")) refuse({}, "no command is given", "tandem --help lists the commands");
    write_overview(out);
    out.flush();
    return 0;
  }
  const CommandSpec* command = find_command(words.command);
  if (command == nullptr) refuse_command(words.command);
  words.after.insert(words.after.begin(), words.before.begin(), words.before.end());
  const Arguments arguments = parse_arguments(*command, words.after);
  out = Output(colours(arguments.value("--color"), surroundings));
  int code = 0;
  if (arguments.has("--help")) {
    write_help(*command, out);
  } else {
    RunContext context{
        .arguments = arguments,
        .out = out,
        .surroundings = surroundings,
        .backends = backends,
        .scenarios = arguments.has("--scenarios") ? arguments.value("--scenarios") : surroundings.scenarios};
    code = run_command(context);
  }
  out.flush();
  return code;
}

}  // namespace

int run_cli(int argc, char** argv, const Surroundings& surroundings, const Backends& backends) {
  try {
    return run(argc, argv, surroundings, backends);
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) say(text(problem));
    return exit_input;
  } catch (const BackendError& error) {
    say(fmt::format("tandem: {}", error.what()));
    return exit_surroundings;
  } catch (const std::bad_alloc&) {
    say("tandem: out of memory");
    return exit_surroundings;
  } catch (const std::exception& error) {
    say(fmt::format("tandem: internal fault, please report: {}", error.what()));
    return exit_fault;
  }
}

}  // namespace tandem
