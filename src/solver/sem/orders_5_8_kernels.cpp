#include "solver/sem/kernels_of.hpp"

namespace slipstream::sem {

template OrderKernels kernels_of<5>();
template OrderKernels kernels_of<6>();
template OrderKernels kernels_of<7>();
template OrderKernels kernels_of<8>();

}  // namespace slipstream::sem
