// Rows into one table of a record file.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/record/sqlite.h"
#include "core/units/id.h"
#include "core/units/quantity.h"

namespace tandem::sqlite {

// Fills one table, many rows a statement as long as there are many. Texts must outlive the inserter.
class Inserter {
 public:
  Inserter(Database& database, std::string_view table, std::size_t columns, std::size_t rows)
      : columns_(columns),
        batches_(rows / batch),
        many_(database, sql(table, columns, batch)),
        one_(database, sql(table, columns, 1)) {}

  template <class... Values>
  void row(const Values&... values) {
    static_assert(sizeof...(values) > 0);
    (bind(values), ...);
    if (batches_ == 0) {
      one_.run();
      parameter_ = 0;
    } else if (parameter_ == static_cast<int>(batch * columns_)) {
      many_.run();
      parameter_ = 0;
      --batches_;
    }
  }

 private:
  static constexpr std::size_t batch = 32;
  static std::string sql(std::string_view table, std::size_t columns, std::size_t rows) {
    std::string row = "(?";
    for (std::size_t i = 1; i < columns; ++i) row += ",?";
    row += ")";
    std::string result = fmt::format("INSERT INTO {} VALUES{}", table, row);
    for (std::size_t i = 1; i < rows; ++i) result += "," + row;
    return result;
  }
  Statement& current() { return batches_ > 0 ? many_ : one_; }

  template <class Integer>
  requires std::is_integral_v<Integer>
  void bind(Integer value) { current().bind(parameter_++, static_cast<std::int64_t>(value)); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void bind(Enum value) { bind(static_cast<std::underlying_type_t<Enum>>(value)); }
  template <class Tag>
  void bind(Quantity<Tag> value) {
    bind(value.value);
  }
  template <class Tag>
  void bind(Id<Tag> id) {
    bind(id.value);
  }
  void bind(double value) { current().bind(parameter_++, value); }
  void bind(std::string_view value) { current().bind(parameter_++, value); }
  void bind(const std::string& value) { bind(std::string_view(value)); }
  void bind(std::optional<std::uint32_t> value) { value ? bind(*value) : current().bind_null(parameter_++); }

  std::size_t columns_, batches_;
  Statement many_, one_;
  int parameter_ = 0;
};

}  // namespace tandem::sqlite
