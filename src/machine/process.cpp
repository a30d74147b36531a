#include <slipstream/process.hpp>

#include <cstdlib>

namespace slipstream {

void set_process_environment() {
  constexpr const char* variables[][2] = {{"CUDA_DEVICE_MAX_CONNECTIONS", "32"},
                                          {"NCCL_NVLS_ENABLE", "0"},
                                          {"NVSHMEM_DISABLE_NVLS", "1"},
                                          {"OMPI_MCA_sharedfp", "^sm"},
                                          {"HWLOC_HIDE_ERRORS", "2"}};
  for (const auto& [name, value] : variables) setenv(name, value, 0);
}

}  // namespace slipstream
