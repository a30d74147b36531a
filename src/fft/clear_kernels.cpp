#include "fft/clear_kernels.hpp"

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

namespace slipstream::fft {
namespace {

/// Cells of the block along an axis: two ranges, the second of which may be empty.
struct Within {
  int lo[2], hi[2];
  SLIP_FN bool operator()(int i) const { return (i >= lo[0] && i < hi[0]) || (i >= lo[1] && i < hi[1]); }
};

template <class T>
struct ClearOutside {
  T* values;
  int nx, ny;
  Within along[3];

  SLIP_FN void operator()(int i, int j, int k) const {
    if (along[0](i) && along[1](j) && along[2](k)) return;
    T* const value = values + 2 * ((static_cast<std::int64_t>(k) * ny + j) * nx + i);
    value[0] = value[1] = T(0);
  }
};

template <class T>
void clear_as(Stream& stream, void* values, const Box& box, const Within (&along)[3]) {
  launch(stream, {{0, 0, 0}, box.extents()},
         ClearOutside<T>{static_cast<T*>(values),
                         static_cast<int>(box.extent(0)),
                         static_cast<int>(box.extent(1)),
                         {along[0], along[1], along[2]}});
}

}  // namespace

void clear_outside(Stream& stream, void* values, const Box& box, bool twice,
                   const std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, 3>& ranges) {
  Within along[3];
  for (std::size_t a = 0; a < 3; ++a) {
    const auto& of_axis = ranges[a];
    require(of_axis.size() <= 2, ErrorCode::unsupported, "at most two ranges of an axis are kept");
    along[a] = {{0, 0}, {of_axis.empty() ? static_cast<int>(box.extent(static_cast<int>(a))) : 0, 0}};
    for (std::size_t r = 0; r < of_axis.size(); ++r) {
      along[a].lo[r] = static_cast<int>(of_axis[r].first - box.lo[a]);
      along[a].hi[r] = static_cast<int>(of_axis[r].second - box.lo[a]);
    }
  }
  if (twice) {
    clear_as<double>(stream, values, box, along);
  } else {
    clear_as<float>(stream, values, box, along);
  }
}

}  // namespace slipstream::fft
