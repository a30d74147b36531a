// Kernels that encode and decode blocks. They are compiled apart because their code takes more registers and makes
// function calls.
#include "mover/program_kernel.hpp"

namespace slipstream {

ProgramKernels kernels_in_blocks() { return program_kernels_of<Coded::in_blocks>(); }

}  // namespace slipstream
