#include <slipstream/device/cuda/function.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "device/cuda/common.hpp"

namespace slipstream::cuda {
namespace {

constexpr int warp = 32;
constexpr int most_block_planes = 64;
constexpr std::size_t shared_without_asking = 48 * 1024;

struct Functions {
  std::mutex mutex;
  std::vector<const void*> noted;
  std::map<int, std::size_t> loaded;  // number of registered kernels that are loaded, by device
};

/// Programmatic dependent launch needs compute capability 9.0.
bool starts_early(Device device) {
  static const std::vector<bool> able = [] {
    std::vector<bool> found(device_count(Backend::cuda));
    for (std::size_t d = 0; d < found.size(); ++d) {
      int major = 0;
      const Device one{Backend::cuda, static_cast<int>(d)};
      check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, one.index), one,
            "asking for the compute capability");
      found[d] = major >= 9;
    }
    return found;
  }();
  return able.at(device.index);
}

/// List of kernels. It is created at first use, because static initialisers of many files register kernels.
Functions& functions() {
  static Functions* all = new Functions;
  return *all;
}

}  // namespace

int resident_blocks(Device device, const void* function, int threads, std::size_t shared_bytes) {
  const DeviceScope scope(device);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_bytes), device,
        "asking how many blocks of a kernel a multiprocessor holds");
  return blocks;
}

int register_function(const void* function) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  all.noted.push_back(function);
  return static_cast<int>(all.noted.size());
}

void load_functions(Device device) {
  Functions& all = functions();
  const std::lock_guard lock(all.mutex);
  std::size_t& loaded = all.loaded[device.index];
  if (loaded == all.noted.size()) return;
  const DeviceScope scope(device);
  for (; loaded < all.noted.size(); ++loaded) {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, all.noted[loaded]), device,
          "loading a kernel (was Slipstream built for this GPU? see CMAKE_CUDA_ARCHITECTURES)");
  }
}

dim3 block_shape(const Box& box, int threads) {
  constexpr std::int64_t most_coordinate = std::int64_t{1} << 30;
  for (int axis = 0; axis < 3; ++axis) {
    require(box.lo[axis] >= -most_coordinate && box.hi[axis] <= most_coordinate,
            "a box reaches from " + std::to_string(box.lo[axis]) + " to " + std::to_string(box.hi[axis]) + " in axis " +
                std::to_string(axis) + ", and kernels count cells to 2^30: give them coordinates relative to a block");
  }
  const std::int64_t most = threads, width = box.extent(0);
  const std::int64_t pieces = (width + most - 1) / most;
  std::int64_t x = (width + pieces - 1) / pieces;
  // Shape of a thread block for a box of cells: rows longer than a warp get whole warps; shorter rows share a warp.
  if (x > warp) x = std::min((x + warp - 1) / warp * warp, most);
  const std::int64_t y = std::clamp<std::int64_t>(most / x, 1, box.extent(1));
  const std::int64_t z =
      std::clamp<std::int64_t>(most / (x * y), 1, std::min<std::int64_t>(box.extent(2), most_block_planes));
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

void launch_function(Stream& stream, const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                     void** arguments, bool early) {
  const Device device = stream.device();
  const DeviceScope scope(device);
  if (shared_bytes > shared_without_asking) {
    const auto bytes = static_cast<int>(std::min<std::size_t>(shared_bytes, 1u << 30));
    const cudaError_t status = cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (status != cudaSuccess) {
      fail(status, device, "giving " + std::to_string(shared_bytes) + " bytes of fast memory to a team");
    }
  }
  const auto native = static_cast<cudaStream_t>(stream.native());
  cudaLaunchAttribute overlapping{};
  overlapping.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlapping.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = grid;
  how.blockDim = block;
  how.dynamicSmemBytes = shared_bytes;
  how.stream = native;
  how.attrs = &overlapping;
  how.numAttrs = early && starts_early(device) ? 1 : 0;
  check(cudaLaunchKernelExC(&how, function, arguments), device, "launching a kernel");
}

}  // namespace slipstream::cuda
