// A small reader of shell scripts: enough for the launch scripts of Megatron-LM, and nothing is ever executed.
#include "core/scenario/shell_snippet.h"

#include <cctype>
#include <map>
#include <optional>

namespace tandem {
namespace {

constexpr std::size_t most_words = 100'000;

bool name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Script {
 public:
  Script(const std::string& text, std::string path, Problems& problems)
      : text_(text), path_(std::move(path)), problems_(problems) {}

  std::vector<Word> arguments() {
    while (at_ < text_.size() && !failed_) statement();
    if (!commands_.empty()) return commands_;
    std::vector<Word> all;
    for (const std::string& name : array_order_)
      for (const Word& word : arrays_[name]) all.push_back(word);
    return all;
  }

 private:
  Where here() const { return {path_, line_, 0}; }

  void fail(const Where& where, std::string what) {
    if (!failed_) problems_.add(where, std::move(what), "paste the script from its beginning to its end");
    failed_ = true;
  }

  // Blanks, continued lines and comments; stops at the end of a statement.
  void skip_blanks(bool newlines_too) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_[at_ + 1] == '\r')) {
        at_ += text_[at_ + 1] == '\r' && at_ + 2 < text_.size() && text_[at_ + 2] == '\n' ? 3 : 2;
        ++line_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '\n' && newlines_too) {
        ++at_;
        ++line_;
      } else {
        return;
      }
    }
  }

  static bool ends_statement(char c) { return c == '\n' || c == ';' || c == '&' || c == '|'; }

  void statement() {
    skip_blanks(true);
    if (at_ >= text_.size()) return;
    if (ends_statement(text_[at_]) || text_[at_] == ')' || text_[at_] == '(') {
      ++at_;
      return;
    }
    std::vector<Word> words;
    bool assignments_allowed = true;
    while (at_ < text_.size() && !ends_statement(text_[at_]) && !failed_) {
      if (assignments_allowed && assignment()) {
        skip_blanks(false);
        continue;
      }
      const std::size_t before = at_;
      const std::size_t count = words.size();
      word(words);
      if (at_ == before) ++at_;  // a stray bracket
      const bool keyword =
          words.size() == count + 1 &&
          (words.back().text == "export" || words.back().text == "local" || words.back().text == "declare" ||
           words.back().text == "then" || words.back().text == "else");
      assignments_allowed = assignments_allowed && keyword;
      skip_blanks(false);
    }
    bool flags = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      flags = flags || words[i].text.starts_with("--");
      // Redirections: "> log" is two words, "2>log" one.
      const std::size_t arrow = words[i].text.find_first_of("<>");
      if (arrow == 0 || (arrow == 1 && std::isdigit(static_cast<unsigned char>(words[i].text[0])) != 0)) {
        if (words[i].text.find_last_of("<>") + 1 == words[i].text.size()) ++i;
        continue;
      }
      if (flags) commands_.push_back(std::move(words[i]));
    }
    if (commands_.size() > most_words) fail(here(), "the script expands to more than 100000 words");
  }

  // NAME=word, NAME=( … ), NAME+=( … ). False, with nothing read, when there is none.
  bool assignment() {
    std::size_t end = at_;
    while (end < text_.size() && name_char(text_[end])) ++end;
    if (end == at_ || std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return false;
    const std::string name = text_.substr(at_, end - at_);
    const bool append = end + 1 < text_.size() && text_[end] == '+' && text_[end + 1] == '=';
    if (!append && (end >= text_.size() || text_[end] != '=')) return false;
    at_ = end + (append ? 2 : 1);
    if (at_ < text_.size() && text_[at_] == '(') {
      array(name, append);
      return true;
    }
    std::vector<Word> value;
    if (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t' && !ends_statement(text_[at_]))
      word(value);
    std::string joined = append ? scalars_[name] : "";
    for (std::size_t i = 0; i < value.size(); ++i) joined += (i > 0 ? " " : "") + value[i].text;
    scalars_[name] = joined;
    return true;
  }

  void array(const std::string& name, bool append) {
    const Where start = here();
    ++at_;
    std::vector<Word> words = append ? arrays_[name] : std::vector<Word>{};
    for (;;) {
      skip_blanks(true);
      if (at_ >= text_.size()) return fail(start, "the array " + name + "=( … never ends");
      if (text_[at_] == ')') break;
      const std::size_t before = at_;
      word(words);
      if (at_ == before) ++at_;
      if (failed_) return;
      if (words.size() > most_words)
        return fail(start, "the array " + name + " expands to more than 100000 words");
    }
    ++at_;
    if (!arrays_.contains(name)) array_order_.push_back(name);
    arrays_[name] = std::move(words);
  }

  // One word with its quotes and variables. An unquoted variable that holds blanks, or an array, gives several
  // words.
  void word(std::vector<Word>& out) {
    const Where where = here();
    std::string built;
    bool any = false;
    const auto flush = [&] {
      if (any) out.push_back({built, where});
      built.clear();
      any = false;
    };
    while (at_ < text_.size() && !failed_) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == ')' || c == '(' || ends_statement(c)) break;
      if (c == '\\') {
        if (at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_[at_ + 1] == '\r')) break;
        if (at_ + 1 < text_.size()) built += text_[at_ + 1];
        any = true;
        at_ = std::min(at_ + 2, text_.size());
      } else if (c == '\'') {
        const std::size_t end = text_.find('\'', at_ + 1);
        if (end == std::string::npos) return fail(where, "a quote (') never ends");
        for (std::size_t i = at_ + 1; i < end; ++i) line_ += text_[i] == '\n';
        built += text_.substr(at_ + 1, end - at_ - 1);
        any = true;
        at_ = end + 1;
      } else if (c == '"') {
        ++at_;
        any = true;
        while (at_ < text_.size() && text_[at_] != '"') {
          if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
            if (text_[at_ + 1] != '\n')
              built += text_[at_ + 1];
            else
              ++line_;
            at_ += 2;
          } else if (text_[at_] == '$') {
            const std::vector<Word> values = variable();
            for (std::size_t i = 0; i < values.size(); ++i) {
              if (i > 0) flush();
              built += values[i].text;
              any = true;
            }
            if (values.empty() && built.empty()) any = false;
          } else {
            line_ += text_[at_] == '\n';
            built += text_[at_++];
          }
        }
        if (at_ >= text_.size()) return fail(where, "a quote (\") never ends");
        ++at_;
      } else if (c == '$') {
        const std::vector<Word> values = variable();
        bool first = true;
        for (const Word& value : values)
          for (const std::string& part : split(value.text)) {
            if (!first) flush();
            built += part;
            any = true;
            first = false;
          }
      } else {
        built += c;
        any = true;
        ++at_;
      }
      if (out.size() > most_words) return fail(where, "the script expands to more than 100000 words");
    }
    flush();
  }

  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::string part;
    for (const char c : text) {
      if (c != ' ' && c != '\t' && c != '\n') {
        part += c;
      } else if (!part.empty()) {
        parts.push_back(part);
        part.clear();
      }
    }
    if (!part.empty()) parts.push_back(part);
    return parts;
  }

  // The end of $( … ) or ${ … }, brackets counted.
  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < text_.size(); ++i) {
      if (text_[i] == '(' || text_[i] == '{') ++depth;
      if (text_[i] == ')' || text_[i] == '}') --depth;
      if (depth == 0) return i;
    }
    return text_.size();
  }

  // At a dollar: $NAME, ${NAME}, ${NAME:-default}, ${NAME[@]}. What cannot be known stays as it stands.
  std::vector<Word> variable() {
    const Where where = here();
    const std::size_t start = at_++;
    if (at_ >= text_.size()) return {{"$", where}};
    if (text_[at_] == '(') {
      const std::size_t end = closing(at_);
      if (end >= text_.size()) fail(where, "$( never ends");
      at_ = std::min(end + 1, text_.size());
      for (std::size_t i = start; i < at_; ++i) line_ += text_[i] == '\n';
      return {{text_.substr(start, at_ - start), where}};
    }
    if (text_[at_] != '{') {
      std::size_t end = at_;
      while (end < text_.size() && name_char(text_[end])) ++end;
      const std::string name = text_.substr(at_, end - at_);
      at_ = end;
      return value_of(name, text_.substr(start, end - start), where);
    }
    const std::size_t end = closing(at_);
    if (end >= text_.size()) {
      fail(where, "${ never ends");
      return {};
    }
    const std::string inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    const std::size_t name_end = inner.find_first_of("[:-=");
    const std::string name = inner.substr(0, name_end);
    const std::string rest = name_end == std::string::npos ? "" : inner.substr(name_end);
    const bool known = scalars_.contains(name) || arrays_.contains(name);
    for (const std::string_view prefix : {":-", ":=", "-", "="})
      if (rest.starts_with(prefix)) {
        if (known && (prefix[0] != ':' || !scalars_[name].empty())) break;
        return {{unquoted(rest.substr(prefix.size())), where}};
      }
    return value_of(name, text_.substr(start, at_ - start), where);
  }

  static std::string unquoted(std::string text) {
    if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
      return text.substr(1, text.size() - 2);
    return text;
  }

  std::vector<Word> value_of(const std::string& name, const std::string& as_typed, const Where& where) {
    if (const auto array = arrays_.find(name); array != arrays_.end()) return array->second;
    if (const auto scalar = scalars_.find(name); scalar != scalars_.end()) return {{scalar->second, where}};
    return {{as_typed, where}};
  }

  const std::string& text_;
  std::string path_;
  Problems& problems_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool failed_ = false;
  std::map<std::string, std::string> scalars_;
  std::map<std::string, std::vector<Word>> arrays_;
  std::vector<std::string> array_order_;
  std::vector<Word> commands_;
};

}  // namespace

std::vector<Word> arguments_of_snippet(const std::string& script, const std::string& path, Problems& problems) {
  return Script(script, path, problems).arguments();
}

}  // namespace tandem
