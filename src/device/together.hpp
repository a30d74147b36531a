#pragma once
// Combines many small kernel launches into few.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <slipstream/launch.hpp>

namespace slipstream {

struct TeamSize {
  int threads = 0;
  std::size_t shared_bytes = 0;
  bool operator==(const TeamSize&) const = default;
};

#if defined(__CUDACC__)
namespace cuda {

constexpr std::size_t parameter_bytes = 32 * 1024 - 4;  // maximum bytes of parameters per launch, since CUDA 12.1

/// Packs items (kernels with their boxes or teams), stored as consecutive bytes, into the parameters of as few launches
/// as possible. Calls `run(parameters, items)` for each launch.
template <class All, class Run>
void for_each_launch(std::span<const std::byte> items, Run run) {
  struct alignas(All) Parameters {
    std::byte bytes[sizeof(All)];
  };
  constexpr std::size_t most = All::most * sizeof(typename All::Item);
  const auto parameters = std::make_unique<Parameters>();
  for (; !items.empty(); items = items.subspan(std::min(items.size(), most))) {
    const auto now = items.first(std::min(items.size(), most));
    std::memcpy(parameters->bytes + All::head_bytes, now.data(), now.size());
    run(parameters->bytes, now);
  }
}

/// Calls `see` with a copy of the first member of each packed item (a kernel and its box) of a joint kernel launch.
template <class Item, class Head, class See>
void for_each_head(std::span<const std::byte> items, See see) {
  Head head;
  for (std::size_t at = 0; at < items.size(); at += sizeof(Item)) {
    std::memcpy(&head, items.data() + at, sizeof head);
    see(head);
  }
}

/// Parameters of a launch: boxes with one kernel each, as many as fit.
template <class Kernel>
struct Boxes {
  struct Item {
    int3 lo, hi;
    Kernel kernel;
  };
  static constexpr std::size_t head_bytes = 16;
  static constexpr std::size_t most = std::min<std::size_t>((parameter_bytes - head_bytes) / sizeof(Item), 256);
  static_assert(most > 0 && alignof(Item) <= head_bytes);
  int planes;  ///< number of layers of thread blocks along z for each box of cells
  alignas(head_bytes) Item items[most];
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

/// Launches kernels over boxes. `items`: consecutive Boxes<Kernel>::Item, of boxes that Together accepts.
template <class Kernel>
void launch_boxes(Stream& stream, std::span<const std::byte> items, TeamSize) {
  static_cast<void>(&BoxesFunction<Kernel>::registered);
  using All = Boxes<Kernel>;
  for_each_launch<All>(items, [&](std::byte* parameters, std::span<const std::byte> now) {
    struct Ends {
      int3 lo, hi;
    };
    Box largest{{0, 0, 0}, {1, 1, 1}};
    for_each_head<typename All::Item, Ends>(now, [&](const Ends& e) {
      const Extent extent{e.hi.x - e.lo.x, e.hi.y - e.lo.y, e.hi.z - e.lo.z};
      for (int a = 0; a < 3; ++a) largest.hi[a] = std::max(largest.hi[a], extent[a]);
    });
    const dim3 block = block_shape(largest, threads_of<Kernel>(cell_threads));
    const auto blocks = [&](int axis, unsigned size) {
      return static_cast<unsigned>((largest.extent(axis) + size - 1) / size);
    };
    const int planes = static_cast<int>(blocks(2, block.z));
    std::memcpy(parameters, &planes, sizeof planes);
    const auto count = static_cast<unsigned>(now.size() / sizeof(typename All::Item));
    void* arguments[] = {parameters};
    launch_function(stream, BoxesFunction<Kernel>::address(),
                    dim3(blocks(0, block.x), blocks(1, block.y), count * static_cast<unsigned>(planes)), block, 0,
                    arguments);
  });
}

/// Parameters of one launch that runs several kernels: for each, the number of thread blocks (teams) and the kernel.
template <class Kernel>
struct TeamLists {
  struct Item {
    int teams;
    Kernel kernel;
  };
  static constexpr std::size_t head_bytes = 0;
  static constexpr std::size_t most = std::min<std::size_t>(parameter_bytes / sizeof(Item), 256);
  static_assert(most > 0);
  Item items[most];
};

template <class Kernel>
__global__ void __launch_bounds__(threads_of<Kernel>(most_threads), resident_of<Kernel>(1))
    run_team_lists(const __grid_constant__ TeamLists<Kernel> lists) {
  extern __shared__ __align__(16) unsigned char slipstream_team_memory[];
  if (static_cast<int>(blockIdx.x) >= lists.items[blockIdx.y].teams) return;
  const Kernel& kernel = lists.items[blockIdx.y].kernel;  // a copy of the kernel object would take many registers
  kernel(Team(blockIdx.x, static_cast<int>(blockDim.x), slipstream_team_memory));
}

template <class Kernel>
struct TeamListsFunction {
  static const void* address() { return reinterpret_cast<const void*>(&run_team_lists<Kernel>); }
  static inline const int registered = register_function(address());
};

/// Launches several kernels at once. `items`: bytes of a sequence of pairs (number of thread blocks, kernel object).
template <class Kernel>
void launch_team_lists(Stream& stream, std::span<const std::byte> items, TeamSize size) {
  static_cast<void>(&TeamListsFunction<Kernel>::registered);
  using All = TeamLists<Kernel>;
  for_each_launch<All>(items, [&](std::byte* parameters, std::span<const std::byte> now) {
    int most = 0;
    for_each_head<typename All::Item, int>(now, [&](int teams) { most = std::max(most, teams); });
    const auto lists = static_cast<unsigned>(now.size() / sizeof(typename All::Item));
    void* arguments[] = {parameters};
    launch_function(stream, TeamListsFunction<Kernel>::address(), dim3(static_cast<unsigned>(most), lists),
                    dim3(static_cast<unsigned>(size.threads)), size.shared_bytes, arguments);
  });
}

}  // namespace cuda
#endif

/// Batches launches on one stream whose order among different boxes does not matter. On a GPU, all boxes of a kernel
/// share a launch. Kernels run in the order of their first add(), even of an empty box. Intended for boxes that leave
/// most of a GPU idle. The host, and large boxes, launch at once.
class Together {
 public:
  explicit Together(Stream& stream) : stream_(&stream) {}
  Device device() const { return stream_->device(); }

  template <class Kernel>
  void add(const Box& box, const Kernel& kernel) {
    if (stream_->device().backend == Backend::host) return launch_on_host(*stream_, box, kernel);
    add_on_gpu(box, kernel);
  }

  /// Adds a kernel over a box for GPUs only; host devices use another kernel. So no host loop is compiled for it.
  template <class Kernel>
  void add_on_gpu([[maybe_unused]] const Box& box, [[maybe_unused]] const Kernel& kernel) {
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
    throw Error(ErrorCode::internal, "a kernel for a GPU was launched from a file that was not compiled as CUDA");
#endif
  }

  /// Adds a kernel that runs on teams (thread blocks of a GPU); the arguments are those of launch_teams().
  template <class Kernel>
  void add_teams(std::int64_t teams, int threads, std::size_t shared_bytes, const Kernel& kernel) {
    if (stream_->device().backend == Backend::host)
      return launch_teams_on_host(*stream_, teams, threads, shared_bytes, kernel);
    add_teams_on_gpu(teams, threads, shared_bytes, kernel);
  }

  /// Adds a kernel that runs on thread blocks of a GPU. Compiles no host loop, because the host has its own kernel.
  template <class Kernel>
  void add_teams_on_gpu([[maybe_unused]] std::int64_t teams, [[maybe_unused]] int threads,
                        [[maybe_unused]] std::size_t shared_bytes, [[maybe_unused]] const Kernel& kernel) {
#if defined(__CUDACC__)
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel travels to the device as bytes");
    const auto add = [&] {
      const typename cuda::TeamLists<Kernel>::Item item{static_cast<int>(teams), kernel};
      const auto bytes = std::as_bytes(std::span(&item, 1));
      std::vector<std::byte>& items = of(&cuda::launch_team_lists<Kernel>, {threads, shared_bytes});
      if (teams > 0) items.insert(items.end(), bytes.begin(), bytes.end());
    };
    if (teams <= most_teams) return add();
    // Launches a kernel of many thread blocks alone: a common launch gives all kernels as many, and most would idle.
    launch();
    add();
    launch();
#else
    throw Error(ErrorCode::internal, "a kernel for a GPU was launched from a file that was not compiled as CUDA");
#endif
  }

  /// Launches all kernels that were added. Later launches keep the order of kernels.
  void launch() {
    for (Kind& kind : kinds_) kind.launch(*stream_, kind.items, kind.size);
    for (Kind& kind : kinds_) kind.items.clear();
  }

 private:
  // Largest boxes that share a launch, by the limits of a CUDA grid: 65535 blocks in y, and in z for up to 256 boxes.
  static constexpr std::int64_t most_rows = 65535, most_planes = 255;
  // Number of thread blocks above which a kernel is launched alone: about as many as a GPU holds at once.
  static constexpr std::int64_t most_teams = 4096;
  using Launch = void (*)(Stream&, std::span<const std::byte>, TeamSize);
  struct Kind {
    Launch launch;
    TeamSize size;  ///< threads and shared memory of a thread block; unused for kernels over boxes
    std::vector<std::byte> items;
  };
  std::vector<std::byte>& of(Launch launch, TeamSize size = {}) {
    for (Kind& kind : kinds_)
      if (kind.launch == launch && kind.size == size) return kind.items;
    return kinds_.emplace_back(Kind{launch, size, {}}).items;
  }
  Stream* stream_;
  std::vector<Kind> kinds_;
};

}  // namespace slipstream
