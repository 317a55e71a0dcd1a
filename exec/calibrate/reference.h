// A product of fixed shape whose time says how fast the machine is at the moment.
#pragma once
#include <vector>

#include "core/units/quantity.h"

namespace tandem {

class ReferenceProduct {
 public:
  explicit ReferenceProduct(int threads);
  Seconds time();
  Flops flops() const;

 private:
  int threads_;
  std::vector<float> a_, b_, c_;
};

}  // namespace tandem
