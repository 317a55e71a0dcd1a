// Numbered places for open requests, with addresses that stay.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

namespace tandem {

template <class T>
class Slots {
 public:
  std::uint32_t take() {
    std::uint32_t index;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(items_.size());
      items_.emplace_back();
      used_.push_back(true);
    } else {
      index = free_.back();
      free_.pop_back();
      used_[index] = true;
    }
    return index;
  }
  void give_back(std::uint32_t index) {
    used_[index] = false;
    free_.push_back(index);
  }
  T& operator[](std::uint32_t index) { return items_[index]; }
  bool empty() const { return free_.size() == items_.size(); }
  template <class F>
  void for_each(F f) {
    for (std::uint32_t i = 0; i < items_.size(); ++i)
      if (used_[i]) f(items_[i]);
  }

 private:
  std::deque<T> items_;
  std::vector<bool> used_;
  std::vector<std::uint32_t> free_;
};

}  // namespace tandem
