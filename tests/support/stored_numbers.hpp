#pragma once
// Converts stored populations to numbers.
#include <cstddef>

#include <slipstream/field.hpp>

#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {

/// Calls f with a value of the storage type of the populations.
template <class F>
auto with_storage(DType precision, const F& f) {
  if (precision == DType::f16) return f(StoredF16{});
  if (precision == DType::f32) return f(StoredF32{});
  return f(StoredF64{});
}

inline double stored_number(DType precision, const void* words, std::size_t n) {
  return with_storage(precision, [&]<class S>(S) {
    return static_cast<double>(S::load(static_cast<const typename S::Word*>(words)[n]));
  });
}

}  // namespace slipstream::lbm
