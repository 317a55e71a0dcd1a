// The user's mistakes as values: collected, thrown once as InputError, printed with file, line, what and hint.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct Where {
  std::string file;  // empty: the command line
  int line = 0;      // 0: the file as a whole
  int column = 0;
};
std::string text(const Where&);

struct Problem {
  Where where;
  std::string what;  // one sentence without a full stop, naming the key and the value
  std::string hint;  // what to do; may be empty
};
// "scenario.toml:12:3: tensor_model_parallel_size = 3 does not divide 32 attention heads\n  hint: use 1, 2, 4,
// …"
std::string text(const Problem&);

// The user's input is wrong. Exit code 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Problem> problems);
  explicit InputError(Problem problem);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// Throws a single problem.
[[noreturn]] void refuse(Where where, std::string what, std::string hint = {});

// The surroundings fail (file system, SimGrid, MPI, CUDA): the call and its text. Exit code 3.
class BackendError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Gathers problems so that all are reported at once.
class Problems {
 public:
  void add(Problem problem) { list_.push_back(std::move(problem)); }
  void add(Where where, std::string what, std::string hint = {}) {
    list_.push_back({std::move(where), std::move(what), std::move(hint)});
  }
  bool empty() const { return list_.empty(); }
  const std::vector<Problem>& list() const { return list_; }
  void throw_if_any() const {
    if (!list_.empty()) throw InputError(list_);
  }

 private:
  std::vector<Problem> list_;
};

// The name in `known` that is nearest to `typed` (edit distance at most a third of its length), or "".
std::string nearest_name(std::string_view typed, const std::vector<std::string>& known);

// Letters to insert, delete, replace or swap with their neighbour; case and '-' for '_' cost nothing.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Our own mistake: on in every build, throws std::logic_error with the place.
void check(bool condition, std::string_view what, std::string_view file = __builtin_FILE(),
           int line = __builtin_LINE());

// Reads a whole regular file; a directory, an unreadable or an over-large file (limit in bytes) is an
// InputError.
std::string read_text_file(const std::string& path, std::size_t limit = 64u << 20);

}  // namespace tandem
