#include "fft/scale_kernels.hpp"

#include <slipstream/launch.hpp>

namespace slipstream::fft {
namespace {

constexpr int row = 1 << 18;

template <class T>
struct Scale {
  T* values;
  std::int64_t count;
  T factor;
  SLIP_FN void operator()(int i, int j, int) const {
    const std::int64_t at = static_cast<std::int64_t>(j) * row + i;
    if (at < count) values[at] *= factor;
  }
};

template <class T>
void scale_as(Stream& stream, void* values, std::int64_t count, double factor) {
  const std::int64_t rows = (count + row - 1) / row;
  launch(stream, {{0, 0, 0}, {rows > 1 ? row : count, rows, 1}},
         Scale<T>{static_cast<T*>(values), count, static_cast<T>(factor)});
}

}  // namespace

void scale(Stream& stream, void* values, std::int64_t count, bool twice, double factor) {
  if (twice) {
    scale_as<double>(stream, values, count, factor);
  } else {
    scale_as<float>(stream, values, count, factor);
  }
}

}  // namespace slipstream::fft
