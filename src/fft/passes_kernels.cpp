// Passes over the values of a block, and the factors that transforms of lines can apply while loading.
#include "fft/passes.hpp"

#include <limits>
#include <numbers>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "fft/line_families.hpp"
#include "fft/make_factor.hpp"

namespace slipstream::fft {
inline namespace passes_kernels {

/// Two index ranges within a block along an axis; the second may be empty.
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

template <class T>
struct PermuteAxes {
  const Pair<T>* from;
  Pair<T>* to;
  std::int64_t source[3], target[3];
  SLIP_FN void operator()(int i, int j, int k) const {
    to[i * target[0] + j * target[1] + k * target[2]] = from[i * source[0] + j * source[1] + k * source[2]];
  }
};

template <class T>
void turn_as(Stream& stream, const Extent& extent, const void* from, const Extent& a, void* to, const Extent& b) {
  launch(stream, {{0, 0, 0}, extent},
         PermuteAxes<T>{
             static_cast<const Pair<T>*>(from), static_cast<Pair<T>*>(to), {a[0], a[1], a[2]}, {b[0], b[1], b[2]}});
}

/// FFT lengths for which a kernel can multiply each mode by a caller's factor as it loads the mode.
struct AllLengths {
  static bool hold(std::int64_t length) { return is_line(length, false) && length <= longest_line_through; }
  template <class T>
  static void launch(Stream& stream, int length, const LineJob<T>& job, const ReadThrough<T, Factor<T>>& read) {
    with_family<T>(length, [&](auto family) { family.launch_through(stream, length, job, read); });
  }
};

template <class T>
std::shared_ptr<const Pointwise> factor_of(const FftFactor& f, const ModeBlock& block, const void* real,
                                           const void* complex, double times) {
  Factor<T> factor{};
  factor.real = static_cast<const T*>(real);
  factor.complex = static_cast<const Pair<T>*>(complex);
  std::complex<double> constant = f.constant;
  for (std::size_t a = 0; a < 3; ++a) {
    factor.unit[a] = static_cast<T>(2 * std::numbers::pi / f.edges[a]);
    factor.order[a] = f.derivative[a];
    // mode n / 2 is its own conjugate, so an odd derivative makes it zero
    const bool alone = f.derivative[a] % 2 == 1 && block.cells[a] % 2 == 0;
    factor.last[a] = alone ? block.cells[a] / 2 : std::numeric_limits<std::int32_t>::min();
    for (int n = 0; n < f.derivative[a]; ++n) constant = {-constant.imag(), constant.real()};
  }
  factor.constant = {static_cast<T>(constant.real()), static_cast<T>(constant.imag())};
  factor.laplacian = f.laplacian;
  factor.decay = static_cast<T>(f.gaussian * f.gaussian / 24);
  factor.most = static_cast<T>(f.sharp * f.sharp);
  return std::make_shared<PointwiseOf<T, Factor<T>, AllLengths>>(block, factor, times);
}

}  // namespace passes_kernels

void clear_outside(Stream& stream, void* values, const Box& box, bool twice,
                   const std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, 3>& ranges) {
  Within along[3];
  for (std::size_t a = 0; a < 3; ++a) {
    const auto& of_axis = ranges[a];
    require(of_axis.size() <= 2, "at most two ranges of an axis are kept");
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

void scale(Stream& stream, void* values, std::int64_t count, bool twice, double factor) {
  if (twice) {
    scale_as<double>(stream, values, count, factor);
  } else {
    scale_as<float>(stream, values, count, factor);
  }
}

void permute(Stream& stream, bool twice, const Extent& extent, const void* from, const Extent& from_stride, void* to,
             const Extent& to_stride) {
  if (twice) {
    turn_as<double>(stream, extent, from, from_stride, to, to_stride);
  } else {
    turn_as<float>(stream, extent, from, from_stride, to, to_stride);
  }
}

std::shared_ptr<const Pointwise> make_factor(const FftFactor& factor, const ModeBlock& block, bool twice,
                                             const void* real, const void* complex, double times) {
  return twice ? factor_of<double>(factor, block, real, complex, times)
               : factor_of<float>(factor, block, real, complex, times);
}

}  // namespace slipstream::fft
