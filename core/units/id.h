// Dense, distinct integer identities and vectors indexed by their own identity type.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

template <class Tag>
struct Id {
  std::uint32_t value = 0;
  constexpr Id() = default;
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr auto operator<=>(const Id&) const = default;
};

// A vector that only its own identity type can index; ids are dense from 0.
template <class IdType, class T>
class IndexedVector {
 public:
  IndexedVector() = default;
  explicit IndexedVector(std::size_t size, T value = {}) : items_(size, std::move(value)) {}

  T& operator[](IdType id) { return items_[id.value]; }
  const T& operator[](IdType id) const { return items_[id.value]; }
  IdType push_back(T item) {
    items_.push_back(std::move(item));
    return IdType(items_.size() - 1);
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void reserve(std::size_t n) { items_.reserve(n); }
  void resize(std::size_t n) { items_.resize(n); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const std::vector<T>& items() const { return items_; }

 private:
  std::vector<T> items_;
};

}  // namespace tandem
