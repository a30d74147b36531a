#include "fft/room.hpp"

#include <algorithm>

#include <slipstream/device.hpp>

#include "grid/largest_extent.hpp"

namespace slipstream::fft {
namespace {

std::int64_t without_arrays(const FftMemory& needed) { return needed.work + needed.messages + needed.library; }

}  // namespace

void require_room(const Machine& machine, const std::vector<int>& devices, const Extent& cells,
                  const FftOptions& options, const std::vector<FftMemory>& needed) {
  std::vector<std::int64_t> free;
  for (const int d : devices)
    free.push_back(
        std::min(machine.device(d).memory, static_cast<std::int64_t>(info(machine.device(d).local).memory_free)));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const FftMemory& m = needed[static_cast<std::size_t>(devices[i])];
    if (without_arrays(m) <= free[i]) continue;
    const auto share = [](std::int64_t bytes, std::int64_t room) {
      return static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(room, 1));
    };
    const Extent largest = largest_extent(machine, cells, [&](const Extent& fewer) {
      const std::vector<FftMemory> all = Fft::memory(machine, fewer, options);
      double fullest = 0;
      for (int d = 0; d < machine.devices(); ++d)
        fullest = std::max(fullest, share(all[static_cast<std::size_t>(d)].total(), machine.device(d).memory));
      for (std::size_t n = 0; n < devices.size(); ++n)
        fullest = std::max(fullest, share(without_arrays(all[static_cast<std::size_t>(devices[n])]), free[n]));
      return fullest;
    });
    const auto mb = [](std::int64_t bytes) { return std::to_string(bytes / 1000000) + " MB"; };
    throw Error(ErrorCode::out_of_memory,
                "a Fourier transform of " + to_string(cells) + " values needs " + mb(without_arrays(m)) +
                    " on device " + std::to_string(devices[i]) + " in addition to the " + mb(m.physical + m.spectral) +
                    " of its arrays, and " + mb(free[i]) +
                    " are free: the largest of this shape that fits with them is " + to_string(largest) +
                    "; or use more devices, or a narrower type",
                {{"cells", to_string(cells)},
                 {"device", devices[i]},
                 {"needed", without_arrays(m)},
                 {"available", free[i]},
                 {"largest", to_string(largest)}});
  }
}

}  // namespace slipstream::fft
