#pragma once

namespace slipstream {

/// A complex number in the layout of fields of c64 and c128.
template <class T>
struct Complex {
  T real, imaginary;
};

}  // namespace slipstream
