// Activations as small functions, each with its value and its slope.
#include "exec/cpu/kernels/activation.h"

#include "exec/cpu/kernels/exponential.h"
#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {
namespace {

// x (1 + tanh u) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and Gimpel 2016).
struct Gelu {
  static constexpr float twice_root = 1.5957691f;  // 2 sqrt(2 / pi)
  static float s(float x) { return sigmoid(twice_root * (x + 0.044715f * x * x * x)); }
  static float value(float x) { return x * s(x); }
  static float slope(float x) {
    const float share = s(x);
    return share + x * share * (1 - share) * twice_root * (1 + 3 * 0.044715f * x * x);
  }
};
struct Relu {
  static float value(float x) { return x > 0 ? x : 0; }
  static float slope(float x) { return x > 0 ? 1.0f : 0.0f; }
};
struct Silu {
  static float value(float x) { return x * sigmoid(x); }
  static float slope(float x) {
    const float share = sigmoid(x);
    return share * (1 + x * (1 - share));
  }
};
struct Tanh {
  static float value(float x) { return 2 * sigmoid(2 * x) - 1; }
  static float slope(float x) {
    const float y = value(x);
    return 1 - y * y;
  }
};

// Calls f with the functions of one activation.
template <class F>
void with(Activation activation, const F& f) {
  switch (activation) {
    case Activation::Gelu:
      return f(Gelu());
    case Activation::Relu:
      return f(Relu());
    case Activation::Silu:
      return f(Silu());
    case Activation::Tanh:
      return f(Tanh());
  }
}

}  // namespace

template <class T>
void activation_forward(Activation activation, std::int64_t count, const T* x, T* y) {
  with(activation, [&](auto act) {
    for_chunks(count, 8, [=](int, std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) y[i] = rounded<T>(act.value(to_float(x[i])));
    });
  });
}

template <class T>
void activation_backward(Activation activation, std::int64_t count, const T* x, const T* dy, T* dx) {
  with(activation, [&](auto act) {
    for_chunks(count, 8, [=](int, std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i)
        dx[i] = rounded<T>(to_float(dy[i]) * act.slope(to_float(x[i])));
    });
  });
}

template <class T>
void gated_activation_forward(Activation activation, std::int64_t rows, std::int64_t width, const T* x, T* y) {
  with(activation, [&](auto act) {
    for_chunks(rows, 8 * width, [=](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T *gate = x + 2 * i * width, *up = gate + width;
        T* out = y + i * width;
#pragma omp simd
        for (std::int64_t j = 0; j < width; ++j)
          out[j] = rounded<T>(act.value(to_float(gate[j])) * to_float(up[j]));
      }
    });
  });
}

template <class T>
void gated_activation_backward(Activation activation, std::int64_t rows, std::int64_t width, const T* x,
                               const T* dy, T* dx) {
  with(activation, [&](auto act) {
    for_chunks(rows, 8 * width, [=](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T *gate = x + 2 * i * width, *up = gate + width, *gradient = dy + i * width;
        T *dgate = dx + 2 * i * width, *dup = dgate + width;
#pragma omp simd
        for (std::int64_t j = 0; j < width; ++j) {
          const float z = to_float(gate[j]), u = to_float(up[j]), g = to_float(gradient[j]);
          dgate[j] = rounded<T>(g * u * act.slope(z));
          dup[j] = rounded<T>(g * act.value(z));
        }
      }
    });
  });
}

#define TANDEM_INSTANTIATE(T)                                                                      \
  template void activation_forward<T>(Activation, std::int64_t, const T*, T*);                     \
  template void activation_backward<T>(Activation, std::int64_t, const T*, const T*, T*);          \
  template void gated_activation_forward<T>(Activation, std::int64_t, std::int64_t, const T*, T*); \
  template void gated_activation_backward<T>(Activation, std::int64_t, std::int64_t, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
