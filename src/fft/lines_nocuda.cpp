#include <slipstream/error.hpp>

#include "fft/line_families.hpp"

namespace slipstream::fft {
namespace {

[[noreturn]] void refuse(int length) {
  throw Error(ErrorCode::unavailable,
              "lines of " + std::to_string(length) + " values have kernels for GPUs only, and this build has none");
}

}  // namespace

template <class T, int odd>
void LineFamily<T, odd>::launch(Stream&, int length, bool, const LineJob<T>&) {
  refuse(length);
}
template <class T, int odd>
void LineFamily<T, odd>::launch_through(Stream&, int length, const LineJob<T>&, const ReadThrough<T, Factor<T>>&) {
  refuse(length);
}

template struct LineFamily<float, 1>;
template struct LineFamily<float, 3>;
template struct LineFamily<float, 5>;
template struct LineFamily<float, 9>;
template struct LineFamily<float, 125>;
template struct LineFamily<double, 3>;
template struct LineFamily<double, 5>;
template struct LineFamily<double, 9>;
template struct LineFamily<double, 125>;

}  // namespace slipstream::fft
