#include "solver/sem/kernels_of.hpp"

namespace slipstream::sem {

template OrderKernels kernels_of<12>();
template OrderKernels kernels_of<13>();
template OrderKernels kernels_of<14>();
template OrderKernels kernels_of<15>();

}  // namespace slipstream::sem
