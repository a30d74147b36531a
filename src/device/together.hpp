#pragma once
// Many small launches as few.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <slipstream/launch.hpp>

namespace slipstream {
#if defined(__CUDACC__)
namespace cuda {

/// Boxes with a kernel for each, as many as the parameters of a launch can hold.
template <class Kernel>
struct Boxes {
  struct Item {
    int3 lo, hi;
    Kernel kernel;
  };
  static constexpr std::size_t parameter_bytes = 32 * 1024 - 4;  // since CUDA 12.1
  static constexpr std::size_t most = std::min<std::size_t>((parameter_bytes - 16) / sizeof(Item), 256);
  static_assert(most > 0 && alignof(Item) <= 16);
  int planes;  ///< of thread blocks for an item
  alignas(16) Item items[most];
};

template <class Kernel>
__global__ void __launch_bounds__(threads_of<Kernel>(cell_threads), resident_of<Kernel>(0))
    run_boxes(const __grid_constant__ Boxes<Kernel> boxes) {
  const int item = static_cast<int>(blockIdx.z) / boxes.planes, plane = static_cast<int>(blockIdx.z) % boxes.planes;
  const int3 lo = boxes.items[item].lo, hi = boxes.items[item].hi;
  const int i = lo.x + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int j = lo.y + static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int k = lo.z + plane * static_cast<int>(blockDim.z) + static_cast<int>(threadIdx.z);
  if (i >= hi.x || j >= hi.y || k >= hi.z) return;
  const Kernel kernel = boxes.items[item].kernel;
  kernel(i, j, k);
}

template <class Kernel>
struct BoxesFunction {
  static const void* address() { return reinterpret_cast<const void*>(&run_boxes<Kernel>); }
  static inline const int registered = register_function(address());
};

/// `items`: whole Boxes<Kernel>::Item, one after the other, of boxes that Together takes.
template <class Kernel>
void launch_boxes(Stream& stream, std::span<const std::byte> items) {
  using All = Boxes<Kernel>;
  using Item = typename All::Item;
  static_cast<void>(&BoxesFunction<Kernel>::registered);
  struct alignas(16) Parameters {
    int planes;
    alignas(16) std::byte items[sizeof(All) - 16];
  };
  static_assert(sizeof(Parameters) == sizeof(All));
  const auto parameters = std::make_unique<Parameters>();
  for (std::size_t first = 0; first < items.size(); first += All::most * sizeof(Item)) {
    const std::size_t bytes = std::min(items.size() - first, All::most * sizeof(Item));
    const auto count = static_cast<unsigned>(bytes / sizeof(Item));
    std::memcpy(parameters->items, items.data() + first, bytes);
    Box largest{{0, 0, 0}, {1, 1, 1}};
    for (unsigned n = 0; n < count; ++n) {
      int3 ends[2];
      std::memcpy(ends, parameters->items + n * sizeof(Item), sizeof ends);
      const Extent extent{ends[1].x - ends[0].x, ends[1].y - ends[0].y, ends[1].z - ends[0].z};
      for (int a = 0; a < 3; ++a) largest.hi[a] = std::max(largest.hi[a], extent[a]);
    }
    const dim3 block = block_shape(largest, threads_of<Kernel>(cell_threads));
    const auto blocks = [&](int axis, unsigned size) { return (largest.extent(axis) + size - 1) / size; };
    parameters->planes = static_cast<int>(blocks(2, block.z));
    void* arguments[] = {parameters.get()};
    launch_function(stream, BoxesFunction<Kernel>::address(),
                    dim3(static_cast<unsigned>(blocks(0, block.x)), static_cast<unsigned>(blocks(1, block.y)),
                         count * static_cast<unsigned>(parameters->planes)),
                    block, 0, arguments);
  }
}

}  // namespace cuda
#endif

/// Launches on one stream whose order among different boxes does not matter: on a GPU one launch for many boxes of a
/// kernel, kernels in the order in which they first came, if only for an empty box. For boxes that leave most of a GPU
/// idle. The host, and what is not small, go at once.
class Together {
 public:
  explicit Together(Stream& stream) : stream_(&stream) {}

  template <class Kernel>
  void add(const Box& box, const Kernel& kernel) {
    if (stream_->device().backend == Backend::host) return launch_on_host(*stream_, box, kernel);
#if defined(__CUDACC__)
    std::vector<std::byte>& items = of(&cuda::launch_boxes<Kernel>);
    if (box.empty()) return;
    if (box.extent(1) > most_rows || box.extent(2) > most_planes) {
      launch();
      return launch_on_gpu(*stream_, box, kernel);
    }
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to the device as bytes");
    const auto corner = [](const Extent& p) {
      return int3{static_cast<int>(p[0]), static_cast<int>(p[1]), static_cast<int>(p[2])};
    };
    const typename cuda::Boxes<Kernel>::Item item{corner(box.lo), corner(box.hi), kernel};
    const auto bytes = std::as_bytes(std::span(&item, 1));
    items.insert(items.end(), bytes.begin(), bytes.end());
#else
    throw Error("a kernel for a GPU was launched from a file that was not compiled as CUDA");
#endif
  }

  /// What was added.
  void launch() {
    for (const Kind& kind : kinds_) kind.launch(*stream_, kind.items);
    kinds_.clear();
  }

 private:
  // A grid has up to 65535 blocks in y and, for up to 256 boxes, in z.
  static constexpr std::int64_t most_rows = 65535, most_planes = 255;
  using Launch = void (*)(Stream&, std::span<const std::byte>);
  struct Kind {
    Launch launch;
    std::vector<std::byte> items;
  };
  std::vector<std::byte>& of(Launch launch) {
    for (Kind& kind : kinds_)
      if (kind.launch == launch) return kind.items;
    return kinds_.emplace_back(Kind{launch, {}}).items;
  }
  Stream* stream_;
  std::vector<Kind> kinds_;
};

}  // namespace slipstream
