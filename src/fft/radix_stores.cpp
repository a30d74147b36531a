// FFT kernels: thread blocks transform tiles of lines in shared memory, and may store results on other devices.
#include "fft/radix_stores.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include <slipstream/fft/pointwise.hpp>
#include "device/upload.hpp"
#include "fft/cufftdx_lines.hpp"
#include "fft/line_families.hpp"

namespace slipstream::fft {
namespace {

#if defined(SLIPSTREAM_CUFFTDX)
constexpr bool with_cufftdx = true;
#else
constexpr bool with_cufftdx = false;
#endif

bool holds(Backend backend, bool twice, std::int64_t length, bool real) {
  if (backend == Backend::host) return is_host_line(twice, length, real);
  return is_line(length, real) || (with_cufftdx && is_cufftdx_line(length, real));
}

template <class T>
void launch_lines(Stream& stream, int length, bool real, const LineJob<T>& job) {
  if constexpr (with_cufftdx)
    if (is_cufftdx_line(length, real)) return launch_cufftdx_lines<T>(stream, length, real, job);
  with_family<T>(length, [&](auto family) { family.launch(stream, length, real, job); });
}

/// Order of work in an FFT along two axes: tiles of lines per chunk (range of planes), and chunks by which the first
/// axis leads. With a lead of one, the second axis would wait for the last thread block of the first.
constexpr int deep = 1, lead = 2;

template <class T>
Buffer<Pair<T>> roots_of_one(Device device, std::int64_t length) {
  std::vector<Pair<T>> roots;
  for (std::int64_t k = 0; k < length; ++k) {
    // Angles are in extended precision: double precision (53 bits) would leave errors in the last bits of the root.
    const long double angle = -2 * std::numbers::pi_v<long double> * k / length;
    roots.push_back({static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))});
  }
  return upload(device, roots);
}

template <class T>
void require_aligned(const void* values) {
  require(reinterpret_cast<std::uintptr_t>(values) % sizeof(Pair<T>) == 0,
          "lines are transformed at addresses that are multiples of " + std::to_string(sizeof(Pair<T>)) +
              " bytes: begin the array there");
}

template <class T>
std::int32_t tiles_of(std::int64_t lines, bool narrow = false) {
  const int wide = Tiling<T, 16>::wide / (narrow ? 2 : 1);
  return static_cast<std::int32_t>((lines + wide - 1) / wide);
}

/// Transform with permuted output: transforms planes of lines and transposes each plane.
template <class T>
class RadixLines final : public Lines {
 public:
  RadixLines(Device device, const LineBatch& batch)
      : batch_(batch), roots_(roots_of_one<T>(device, batch.sizes.back())) {}

  void run(Stream& stream, const void* from, void* to) override {
    launch_lines(stream, length(), false, job(from, to, in_narrow_tiles(length()) && batch_.read < 0));
  }
  void run_with(Stream& stream, const void* from, void* to, const Operation& operation) override {
    operation->ride(stream, length(), job(from, to, false), {1, static_cast<std::int32_t>(batch_.rows)});
  }
  bool applies(const Pointwise& operation) const override {
    return batch_.kind == Kind::backward && operation.rides(batch_.sizes.back());
  }

  int length() const { return static_cast<int>(batch_.sizes.back()); }
  bool forward() const { return batch_.kind == Kind::forward; }
  LinePass<T> pass(const void* from, void* to, bool narrow) const {
    require_aligned<T>(from);
    require_aligned<T>(to);
    const std::int64_t length = batch_.sizes.back(), row = batch_.from.row ? batch_.from.row : batch_.rows;
    LinePass<T> pass;
    pass.from = static_cast<const T*>(from);
    pass.step_across = 2 * length;
    pass.step_third = 2 * length * row;
    pass.lines = static_cast<std::int32_t>(batch_.rows);
    pass.thirds = static_cast<std::int32_t>(batch_.count / batch_.rows);
    pass.tiles = tiles_of<T>(batch_.rows, narrow);
    if (const std::int64_t most = batch_.highest; most >= 0 && 2 * most + 1 < length) {
      pass.low = static_cast<std::int32_t>(most + 1);
      pass.high = static_cast<std::int32_t>(length - most);
    }
    if (batch_.read >= 0) pass.used_lines = static_cast<std::int32_t>(batch_.read);
    pass.to = static_cast<Pair<T>*>(to);
    pass.to_along = row;
    pass.to_across = 1;
    pass.to_third = length * row;
    pass.modes = static_cast<std::int32_t>(length);
    return pass;
  }

 private:
  LineJob<T> job(const void* from, void* to, bool narrow) const {
    return {{pass(from, to, narrow), {}}, {}, forward(), roots_.data(), narrow};
  }

  LineBatch batch_;
  Buffer<Pair<T>> roots_;
};

template <class T>
class RadixStoredLines final : public StoredLines {
 public:
  RadixStoredLines(Device device, const LineBatch& batch, const Extent& block)
      : device_(device),
        block_(block),
        real_(batch.kind == Kind::real_to_complex),
        forward_(batch.kind != Kind::backward),
        length_{static_cast<int>(batch.sizes.back()), static_cast<int>(batch.sizes.front())} {
    roots_[0] = roots_of_one<T>(device, length_[0]);
    if (batch.sizes.size() == 1) return;
    roots_[1] = roots_of_one<T>(device, length_[1]);
    const std::int64_t chunk = deep * wide, chunks = (block[2] + chunk - 1) / chunk;
    counters_ = Buffer<std::uint32_t>(device, static_cast<std::size_t>(1 + chunks));
  }

  void prepare(const Exchange& exchange) override { windows_ = upload(device_, exchange.window_list(0, device_)); }

  void run(Stream& stream, const void* from, void* work, const Exchange& exchange) override {
    queue(stream, from, work, exchange, nullptr);
  }
  void run_concurrently(Stream& stream, const void* from, void* work, const Exchange& exchange, Lines& others,
                        const void* others_from, void* others_to) override {
    const auto* const lines = dynamic_cast<const RadixLines<T>*>(&others);
    const std::vector<Window>& list = exchange.window_list(0, device_);
    if (!lines || list.empty() || counters_.bytes() || real_ || lines->length() != length_[0] ||
        lines->forward() != forward_)
      return StoredLines::run_concurrently(stream, from, work, exchange, others, others_from, others_to);
    LineJob<T> job{{one_axis(from, list, exchange), lines->pass(others_from, others_to, in_narrow_tiles(length_[0]))},
                   {},
                   forward_,
                   roots_[0].data()};
    job.two.apart = true;
    launch_lines(stream, length_[0], false, job);
  }
  void run_with(Stream& stream, const void* from, void* work, const Exchange& exchange,
                const Operation& operation) override {
    queue(stream, from, work, exchange, operation.get());
  }
  bool applies(const Pointwise& operation) const override { return !real_ && !forward_ && operation.rides(length_[0]); }

 private:
  void queue(Stream& stream, const void* from, void* work, const Exchange& exchange, const Pointwise* operation) {
    const std::vector<Window>& list = exchange.window_list(0, device_);
    if (list.empty()) return;
    const auto [nx, ny, nz] = block_;
    const auto rows = static_cast<std::int32_t>(ny);
    if (!counters_.bytes()) {
      const LinePass<T> x = one_axis(from, list, exchange);
      return operation
                 ? launch_with(stream, x, *operation, x.tile_axis == 1 ? LineNumbers{1, rows} : LineNumbers{rows, 1})
                 : launch(stream, 0, x);
    }
    require_aligned<T>(from);
    LinePass<T> x;
    x.from = static_cast<const T*>(from);
    const std::int64_t row = row_along_x();
    // Lines along x are stored as [z][x][y], so that lines along y are contiguous.
    LinePass<T> y;
    y.from = static_cast<const T*>(work);
    y = through_windows(y, list, exchange, 1, list[0].stride[0] < list[0].stride[2] ? 0 : 2, {2 * ny, 2, 2 * nx * ny});
    x.step_across = row;
    x.step_third = row * ny;
    x.lines = static_cast<std::int32_t>(ny);
    x.thirds = static_cast<std::int32_t>(nz);
    x.to = static_cast<Pair<T>*>(work);
    x.to_along = ny;
    x.to_across = 1;
    x.to_third = nx * ny;
    x.modes = static_cast<std::int32_t>(range(list, 0).second);
    x.tiles = tiles_of<T>(x.lines);
    if (operation) {
      launch_with(stream, x, *operation, {1, rows});
      launch(stream, 1, y);
    } else if (length_[0] == length_[1] && y.tile_axis == 2) {
      launch_both(stream, x, y);
    } else {
      launch(stream, 0, x);
      launch(stream, 1, y);
    }
  }

  static constexpr int wide = Tiling<T, 16>::wide;

  /// Length in real numbers of a row along x; a complex value counts as two.
  std::int64_t row_along_x() const { return real_ ? length_[0] : 2 * block_[0]; }

  /// FFT pass along x. A thread block's lines are neighbours along y or z: the axis of smaller stride in the target.
  LinePass<T> one_axis(const void* from, const std::vector<Window>& list, const Exchange& exchange) const {
    require_aligned<T>(from);
    LinePass<T> x;
    x.from = static_cast<const T*>(from);
    const std::int64_t row = row_along_x();
    const int across = list[0].stride[1] < list[0].stride[2] ? 1 : 2;
    return through_windows(x, list, exchange, 0, across, {1, row, row * block_[1]});
  }

  /// Range of source cells along an axis that spans the boxes of all destinations (windows) of the transformed values.
  static std::pair<std::int64_t, std::int64_t> range(const std::vector<Window>& list, int axis) {
    std::pair<std::int64_t, std::int64_t> all{list[0].lo[axis], list[0].hi[axis]};
    for (const Window& w : list) all = {std::min(all.first, w.lo[axis]), std::max(all.second, w.hi[axis])};
    return all;
  }

  /// Completes a pass of 1-D transforms that stores to target memory. `steps`: source strides by axis, in real numbers.
  LinePass<T> through_windows(LinePass<T> pass, const std::vector<Window>& list, const Exchange& exchange,
                              int line_axis, int tile_axis, const Extent& steps) const {
    const int third_axis = 3 - line_axis - tile_axis;
    pass.step_across = steps[static_cast<std::size_t>(tile_axis)];
    pass.step_third = steps[static_cast<std::size_t>(third_axis)];
    pass.lines = static_cast<std::int32_t>(block_[static_cast<std::size_t>(tile_axis)]);
    const auto [begin, end] = range(list, third_axis);
    pass.first_third = static_cast<std::int32_t>(begin);
    pass.thirds = static_cast<std::int32_t>(end - begin);
    const auto [first, behind] = range(list, tile_axis);
    pass.first_tile = static_cast<std::int32_t>(first / wide);
    pass.tiles = tiles_of<T>(behind) - pass.first_tile;
    pass.windows = static_cast<std::int32_t>(list.size());
    const bool cut = std::any_of(list.begin(), list.end(),
                                 [&](const Window& w) { return w.lo[third_axis] != list[0].lo[third_axis]; });
    if (cut) pass.ranges = static_cast<std::int32_t>(std::min<std::size_t>(list.size(), pass.thirds));
    pass.list = windows_.data();
    pass.out = exchange.windows<std::complex<T>>(0, device_);
    pass.line_axis = line_axis;
    pass.tile_axis = tile_axis;
    return pass;
  }

  void launch(Stream& stream, std::size_t axis, const LinePass<T>& pass) const {
    const LineJob<T> job{{pass, {}}, {}, forward_, roots_[axis].data()};
    launch_lines(stream, length_[axis], axis == 0 && real_, job);
  }

  void launch_with(Stream& stream, const LinePass<T>& pass, const Pointwise& operation,
                   const LineNumbers& numbers) const {
    operation.ride(stream, length_[0], LineJob<T>{{pass, {}}, {}, forward_, roots_[0].data()}, numbers);
  }

  void launch_both(Stream& stream, const LinePass<T>& x, const LinePass<T>& y) const {
    LineJob<T> job{{x, y}, {}, forward_, roots_[0].data()};
    job.two.deep = deep;
    job.two.chunks = static_cast<std::int32_t>(counters_.size()) - 1;
    job.two.lead = std::min(lead, job.two.chunks);
    job.two.ticket = counters_.data();
    fill(stream, counters_.data(), 0, counters_.bytes());
    launch_lines(stream, length_[0], real_, job);
  }

  Device device_;
  Extent block_;
  bool real_, forward_;
  std::array<int, 2> length_;
  std::array<Buffer<Pair<T>>, 2> roots_;
  Buffer<std::uint32_t> counters_;  // numbers of work items begun, and done per chunk, in fused FFT passes along x, y
  Buffer<Window> windows_;
};

}  // namespace

bool in_narrow_tiles(std::int64_t length) { return is_narrow(static_cast<int>(length)); }

bool radix_holds(Backend backend, const LineBatch& batch) {
  if (batch.kind == Kind::complex_to_real || batch.sizes.size() > 2) return false;
  if (batch.sizes.size() == 2 && !holds(backend, batch.twice, batch.sizes.front(), false)) return false;
  return holds(backend, batch.twice, batch.sizes.back(), batch.kind == Kind::real_to_complex);
}

std::unique_ptr<Lines> make_radix_lines(Device device, const LineBatch& batch) {
  if (batch.twice) return std::make_unique<RadixLines<double>>(device, batch);
  return std::make_unique<RadixLines<float>>(device, batch);
}

std::unique_ptr<StoredLines> make_radix_stored_lines(Device device, const LineBatch& batch, const Extent& block) {
  require(radix_holds(device.backend, batch), ErrorCode::unsupported,
          "no kernel of " + to_string(device) + " stores lines of " + std::to_string(batch.sizes.back()) +
              " values at their targets");
  if (batch.twice) return std::make_unique<RadixStoredLines<double>>(device, batch, block);
  return std::make_unique<RadixStoredLines<float>>(device, batch, block);
}

}  // namespace slipstream::fft
