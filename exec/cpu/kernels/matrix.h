// A row-major matrix in someone else's memory.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tandem::cpu {

template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t stride = 0;  // elements from one row to the next

  T* row(std::int64_t i) const { return data + i * stride; }
  operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, columns, stride}; }
};

// Rows that follow one another without a gap.
template <class T>
Matrix<T> dense(T* data, std::int64_t rows, std::int64_t columns) {
  return {data, rows, columns, columns};
}

}  // namespace tandem::cpu
