#pragma once

namespace slipstream {

/// A complex number as fields of c64 and c128 hold it.
template <class T>
struct Complex {
  T real, imaginary;
};

}  // namespace slipstream
