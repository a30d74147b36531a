#pragma once

namespace slipstream {

/// A complex number with the layout that fields of c64 and c128 have.
template <class T>
struct Complex {
  T real, imaginary;
};

}  // namespace slipstream
