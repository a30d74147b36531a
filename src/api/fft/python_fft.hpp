#pragma once
#include <slipstream/fft.hpp>

#include "api/python_common.hpp"

namespace slipstream::python {

FftOptions fft_options(const nb::dict& dict);

}  // namespace slipstream::python
