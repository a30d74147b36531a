// The kernel that evaluates the condition of a loop within a graph.
#include <cstdint>

#include "device/cuda/common.hpp"

namespace slipstream::cuda {
namespace {

__global__ void set_condition(cudaGraphConditionalHandle handle, const std::int32_t* again) {
  cudaGraphSetConditional(handle, *again != 0 ? 1u : 0u);
}

}  // namespace

void add_condition(Device device, cudaGraph_t graph, cudaGraphNode_t behind, cudaGraphConditionalHandle handle,
                   const std::int32_t* again) {
  void* arguments[] = {&handle, &again};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(set_condition);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddKernelNode(&node, graph, &behind, 1, &kernel), device, "adding the condition of a loop");
}

}  // namespace slipstream::cuda
