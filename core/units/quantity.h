// Physical quantities as distinct types: only meaningful arithmetic compiles, and Bytes / Bandwidth is a time.
#pragma once
#include <compare>
#include <cstdint>

namespace tandem {

// A value in the base unit of its Tag (s, B, FLOP, B/s, FLOP/s, J, W). Doubles hold whole bytes exactly up to 9
// PB.
template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double base_units) : value(base_units) {}

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator-() const { return Quantity(-value); }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value *= factor;
    return *this;
  }
  constexpr Quantity& operator/=(double divisor) {
    value /= divisor;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return Quantity(a.value * factor); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(a.value * factor); }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return Quantity(a.value / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;
using Bandwidth = Quantity<struct BandwidthTag>;
using ComputeRate = Quantity<struct ComputeRateTag>;
using Power = Quantity<struct PowerTag>;
using Energy = Quantity<struct EnergyTag>;

constexpr Seconds operator/(Bytes a, Bandwidth b) { return Seconds(a.value / b.value); }
constexpr Seconds operator/(Flops a, ComputeRate b) { return Seconds(a.value / b.value); }
constexpr Bandwidth operator/(Bytes a, Seconds b) { return Bandwidth(a.value / b.value); }
constexpr ComputeRate operator/(Flops a, Seconds b) { return ComputeRate(a.value / b.value); }
constexpr Bytes operator*(Bandwidth a, Seconds b) { return Bytes(a.value * b.value); }
constexpr Bytes operator*(Seconds a, Bandwidth b) { return b * a; }
constexpr Flops operator*(ComputeRate a, Seconds b) { return Flops(a.value * b.value); }
constexpr Energy operator*(Power a, Seconds b) { return Energy(a.value * b.value); }

constexpr Seconds microseconds(double us) { return Seconds(us * 1e-6); }
constexpr Seconds milliseconds(double ms) { return Seconds(ms * 1e-3); }
constexpr Bytes gibibytes(double gib) { return Bytes(gib * 1073741824.0); }
constexpr Bytes gigabytes(double gb) { return Bytes(gb * 1e9); }
constexpr Bandwidth gigabytes_per_second(double gbs) { return Bandwidth(gbs * 1e9); }
constexpr ComputeRate teraflops(double tflops) { return ComputeRate(tflops * 1e12); }

}  // namespace tandem
