#include "solver/sem/kernels_of.hpp"

namespace slipstream::sem {

template OrderKernels kernels_of<1>();
template OrderKernels kernels_of<2>();
template OrderKernels kernels_of<3>();
template OrderKernels kernels_of<4>();

}  // namespace slipstream::sem
