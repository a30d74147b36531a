#pragma once
// Loads and stores complex amplitudes of modes, real part first.
#include <slipstream/device/complex.hpp>

#include "solver/dns/kernels.hpp"

namespace slipstream::dns {

template <class T>
SLIP_FN Complex<T> load(const Three<T>& array, std::int64_t at, int c) {
  const T* const value = array.at + 2 * at + c * array.step;
  return {value[0], value[1]};
}
template <class T>
SLIP_FN void store(const Three<T>& array, std::int64_t at, int c, const Complex<T>& value) {
  T* const to = array.at + 2 * at + c * array.step;
  to[0] = value.real;
  to[1] = value.imaginary;
}

}  // namespace slipstream::dns
