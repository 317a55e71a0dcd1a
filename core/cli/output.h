// What a command prints: text gathered, then written whole; styles for terminals; tables with aligned columns.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

enum class Style : unsigned char { Plain, Bold, Dim, Good, Bad, Title };

class Output {
 public:
  explicit Output(bool coloured) : coloured_(coloured) {}
  bool coloured() const { return coloured_; }
  // The text in the style's colours, or as it is.
  std::string styled(std::string_view text, Style style) const;
  void line(std::string_view text = {}) {
    text_ += text;
    text_ += '\n';
  }
  void add(std::string_view text) { text_ += text; }
  const std::string& text() const { return text_; }
  // Writes all to standard output. BackendError when it takes no more (closed, full disk).
  void flush();

 private:
  bool coloured_;
  std::string text_;
};

// Rows of cells; columns as wide as their widest cell, numbers to the right where `right` says so. Each row
// ends in a newline; trailing blanks are dropped.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                  std::string_view indent = "  ");

// Cells on a screen: characters, not bytes.
std::size_t display_width(std::string_view text);
std::string padded(std::string_view text, std::size_t width, bool right = false);

// A bar of eighths of a cell.
std::string bar(double share, std::size_t width);

// One line on a terminal, rewritten as the work goes on; nothing elsewhere.
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::string_view what, double share);
  void clear();

 private:
  bool shown_, visible_ = false;
  int last_percent_ = -1;
};

}  // namespace tandem
