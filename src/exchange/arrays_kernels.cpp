#include "exchange/arrays_kernels.hpp"

#include <algorithm>

#include <slipstream/launch.hpp>

namespace slipstream {
inline namespace arrays_kernels {

/// Maximum number of addresses per launch. They are arguments of the launch, whose size is limited.
constexpr std::size_t in_one_launch = 64;

struct StorePlaces {
  std::byte** table;
  ArrayPlace places[in_one_launch];
  SLIP_FN void operator()(int i, int, int) const { table[places[i].at] = places[i].array; }
};

}  // namespace arrays_kernels

void store_places(Stream& stream, std::byte** table, const std::vector<ArrayPlace>& places) {
  for (std::size_t first = 0; first < places.size(); first += in_one_launch) {
    StorePlaces kernel{table, {}};
    const std::size_t count = std::min(in_one_launch, places.size() - first);
    std::copy_n(places.begin() + static_cast<std::ptrdiff_t>(first), count, kernel.places);
    launch(stream, Box{{0, 0, 0}, {static_cast<std::int64_t>(count), 1, 1}}, kernel);
  }
}

}  // namespace slipstream
