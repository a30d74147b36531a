// Transforms of a device that store their results by themselves: tiles of lines in the shared memory of teams.
#include <cmath>
#include <complex>
#include <numbers>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "device/upload.hpp"
#include "fft/radix_stores.hpp"

namespace slipstream::fft {
namespace {

/// Bytes of a tile's shared memory: one team a multiprocessor at the longest lines.
constexpr std::int64_t most_shared = 128 << 10;
/// What a link or memory takes at once.
constexpr std::int64_t store_bytes = 128;

/// Through the windows of a block. A line's values lie along the source's axis `line_axis`, its neighbours along
/// `tile_axis`.
template <class T>
struct ToWindows {
  Windows<std::complex<T>> windows;
  const Window* list;  // here, of this block
  int count, line_axis, tile_axis;
  SLIP_FN bool open() const { return windows.open(); }
  SLIP_FN void put(int mode, std::int64_t line, std::int64_t third, const Pair<T>& value) const {
    const auto cell = [&](int axis) { return axis == line_axis ? mode : axis == tile_axis ? line : third; };
    for (int n = 0; n < count; ++n)
      if (list[n].holds(cell(0), cell(1), cell(2)))
        *reinterpret_cast<Pair<T>*>(windows.place(n, cell(0), cell(1), cell(2))) = value;
  }
};

template <class T>
Buffer<Pair<T>> roots_of_one(Device device, std::int64_t length) {
  std::vector<Pair<T>> roots;
  for (std::int64_t k = 0; k < length; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    roots.push_back({static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))});
  }
  return upload(device, roots);
}

template <class T>
class RadixStoredLines final : public StoredLines {
 public:
  RadixStoredLines(Device device, const LineBatch& batch, const Extent& block)
      : device_(device), block_(block), forward_(batch.kind == Kind::forward) {
    for (std::size_t axis = 0; axis < batch.sizes.size(); ++axis) roots_[axis] = roots_of_one<T>(device, block[axis]);
    twice_ = batch.sizes.size() == 2;
  }

  void prepare(const Exchange& exchange) override { windows_ = upload(device_, exchange.window_list(0, device_)); }

  void run(Stream& stream, const void* from, void* work, const Exchange& exchange) override {
    const std::vector<Window>& list = exchange.window_list(0, device_);
    if (list.empty()) return;
    const ToWindows<T> out{exchange.windows<std::complex<T>>(0, device_), windows_.data(),
                           static_cast<int>(list.size()), 0, 0};
    const auto* const values = static_cast<const Pair<T>*>(from);
    const auto [nx, ny, nz] = block_;
    if (!twice_) {
      // Stores run along the axis on which the target has the smaller steps.
      if (list[0].stride[1] < list[0].stride[2]) {
        launch_tiles(stream, 0, ny, nz, values, {1, nx, nx * ny}, to(out, 0, 1));
      } else {
        launch_tiles(stream, 0, nz, ny, values, {1, nx * ny, nx}, to(out, 0, 2));
      }
      return;
    }
    // Lines along x are left as [z][x][y], so that those along y lie in memory.
    auto* const turned = static_cast<Pair<T>*>(work);
    launch_tiles(stream, 0, ny, nz, values, {1, nx, nx * ny}, ToArray<T>{turned, {ny, 1, nx * ny}});
    if (list[0].stride[0] < list[0].stride[2]) {
      launch_tiles(stream, 1, nx, nz, turned, {1, ny, nx * ny}, to(out, 1, 0));
    } else {
      launch_tiles(stream, 1, nz, nx, turned, {1, nx * ny, ny}, to(out, 1, 2));
    }
  }

 private:
  static ToWindows<T> to(ToWindows<T> out, int line_axis, int tile_axis) {
    out.line_axis = line_axis;
    out.tile_axis = tile_axis;
    return out;
  }

  template <class Out>
  void launch_tiles(Stream& stream, std::size_t axis, std::int64_t lines, std::int64_t third, const Pair<T>* from,
                    const Steps& steps, const Out& out) const {
    const std::int64_t length = block_[axis], bytes = static_cast<std::int64_t>(sizeof(Pair<T>));
    std::int64_t wide = store_bytes / bytes;
    while (wide * length * bytes > most_shared) wide /= 2;
    const std::int64_t tiles = (lines + wide - 1) / wide;
    const RadixTile<T, Out> kernel{Radices(static_cast<int>(length)),
                                   static_cast<int>(wide),
                                   forward_,
                                   lines,
                                   tiles,
                                   from,
                                   steps,
                                   roots_[axis].data(),
                                   out,
                                   8 * wide * length};
    launch_teams(stream, tiles * third, RadixTile<T, Out>::threads, static_cast<std::size_t>(wide * length * bytes),
                 kernel);
  }

  Device device_;
  Extent block_;
  bool forward_, twice_ = false;
  std::array<Buffer<Pair<T>>, 2> roots_;
  Buffer<Window> windows_;
};

}  // namespace

bool radix_holds(const LineBatch& batch) {
  if (batch.kind != Kind::forward && batch.kind != Kind::backward) return false;
  for (const std::int64_t size : batch.sizes)
    if (!Radices::hold(size)) return false;
  return batch.sizes.size() <= 2;
}

std::unique_ptr<StoredLines> make_radix_stored_lines(Device device, const LineBatch& batch, const Extent& block) {
  require(radix_holds(batch), "lines of " + std::to_string(batch.sizes.back()) +
                                  " values cannot be stored where they must go: they are powers of two from " +
                                  std::to_string(Radices::shortest) + " to " + std::to_string(Radices::longest));
  if (batch.twice) return std::make_unique<RadixStoredLines<double>>(device, batch, block);
  return std::make_unique<RadixStoredLines<float>>(device, batch, block);
}

}  // namespace slipstream::fft
