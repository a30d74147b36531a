#include <dlfcn.h>

#include "machine/gpu_mpi.hpp"

namespace slipstream {

std::string gpu_mpi_claim(Backend backend) {
  if (backend == Backend::host) return {};
  // MPI's query about CUDA support is an extension of some MPI libraries, so it is looked up at run time.
  const auto ask = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  if (!ask) return "the MPI library cannot tell whether it takes GPU memory (it has no MPIX_Query_cuda_support)";
  return ask() ? "" : "the MPI library was built without CUDA (MPIX_Query_cuda_support says no)";
}

}  // namespace slipstream
