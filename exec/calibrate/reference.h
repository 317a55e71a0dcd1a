// A product of fixed shape whose time says how fast the machine is at the moment.
#pragma once
#include <vector>

#include "core/units/quantity.h"

namespace tandem {

class ReferenceProduct {
 public:
  // `core`: the first of the cores that it runs on; -1: any.
  ReferenceProduct(int threads, int core);
  // Binds the calling thread to the cores.
  Seconds time();
  static Flops flops();

 private:
  Seconds time_once();

  int threads_, core_;
  std::vector<float> a_, b_, c_;
};

}  // namespace tandem
