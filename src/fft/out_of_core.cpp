#include "fft/out_of_core.hpp"

#include <algorithm>

#include <slipstream/error.hpp>

namespace slipstream::fft {
namespace {

constexpr std::int64_t together = BatchWork::together;
/// A sweep begins and ends with a batch that nothing travels beside: it has so many, where these are no smaller than
/// that.
constexpr std::int64_t batches_of_sweep = 32, least_batch = 8 << 20;

std::int64_t parts(std::int64_t all, std::int64_t each) { return (all + each - 1) / each; }

/// Buffers, and what a library may ask for beside them.
std::int64_t shares(Backend backend, const Decomposition& cut) {
  LineBatch batch;
  batch.sizes = {cut.cells[0], cut.cells[1], cut.cells[2]};
  batch.count = 1;
  return Batches::buffers + (workspace_estimate(backend, batch) > 0 ? 1 : 0);
}

std::int64_t least_buffer(const Decomposition& cut) {
  const std::int64_t value = 2 * cut.word();
  if (cut.transposed) return value * cut.modes[0] * std::max(cut.cells[1], cut.cells[2]);
  return value * together * std::max({cut.modes[0], cut.cells[1], cut.cells[2]});
}

}  // namespace

std::int64_t OutOfCore::least_budget(Backend backend, const Decomposition& cut) {
  return shares(backend, cut) * ((least_buffer(cut) + 255) / 256 * 256);
}

std::int64_t OutOfCore::buffer_bytes(Backend backend, const Decomposition& cut, std::int64_t budget) {
  const std::int64_t least = least_budget(backend, cut);
  require(budget >= least, ErrorCode::unsupported,
          "a Fourier transform of " + to_string(cut.cells) + " cells by batches needs " + std::to_string(least) +
              " bytes of the device, and " + std::to_string(budget) + " were given: give those or more" +
              (cut.transposed ? ", or leave the order of the axes (transposed = false), where planes are split" : ""),
          {{"option", "device_memory"}, {"given", budget}, {"needed", least}});
  const std::int64_t all = 2 * cut.word() * volume(cut.modes);
  const std::int64_t wanted = std::max({parts(all, batches_of_sweep), least_batch, least / shares(backend, cut)});
  return std::min(budget / shares(backend, cut), wanted) / 256 * 256;
}

OutOfCore::OutOfCore(Device device, const Decomposition& cut, std::int64_t budget, BatchOptions options)
    : cut_(cut),
      nx_(cut.cells[0]),
      mx_(cut.modes[0]),
      ny_(cut.cells[1]),
      nz_(cut.cells[2]),
      value_(2 * cut.word()),
      row_(mx_ * value_),
      plane_(ny_ * row_),
      cells_(cut.real ? nx_ * cut.word() : row_),
      batches_(device, buffer_bytes(device.backend, cut, budget), options),
      work_(device, cut.twice) {
  Stream stream(device);
  forward(stream, nullptr, nullptr);
  backward(stream, nullptr, nullptr, 1);
  work_.ready();
}

Kind OutOfCore::along_x(bool forward) const {
  if (cut_.real) return forward ? Kind::real_to_complex : Kind::complex_to_real;
  return forward ? Kind::forward : Kind::backward;
}

void OutOfCore::forward(Stream& stream, const void* from, void* to) {
  auto* const source = static_cast<std::byte*>(const_cast<void*>(from));  // of batches that come
  auto* const target = static_cast<std::byte*>(to);
  const Way way{true};
  if (splits()) {
    rows_along_x(stream, way, source, target);
    columns_along_y(stream, way, target);
  } else {
    planes(stream, way, source, target);
  }
  lines_along_z(stream, way, target);
}

void OutOfCore::backward(Stream& stream, void* from, void* to, double factor) {
  auto* const source = static_cast<std::byte*>(from);
  auto* const target = static_cast<std::byte*>(to);
  const Way way{false, factor};
  lines_along_z(stream, way, source);
  if (splits()) {
    columns_along_y(stream, way, source);
    rows_along_x(stream, way, source, target);
  } else {
    planes(stream, way, source, target);
  }
}

// A plan's work is queued nowhere: one of the buffers stands for another.
void OutOfCore::run(Stream& stream, std::int64_t count, const Batches::Rows& rows, const Batches::Work& work) {
  if (!work_.planning()) return batches_.run(stream, count, rows, work);
  std::byte here[2];
  for (std::int64_t batch = 0; batch < count; ++batch) work(stream, batch, &here[0], &here[1]);
}

// Rows of real values are shorter than those of modes. In place, forward begins at the end and backward at the
// beginning.
void OutOfCore::planes(Stream& stream, Way way, std::byte* from, std::byte* to) {
  const std::int64_t deep = std::clamp<std::int64_t>(batches_.bytes_of_buffer() / plane_, 1, nz_);
  const std::int64_t count = parts(nz_, deep);
  const auto range = [=, this](std::int64_t batch) {
    const std::int64_t first = (way.forward ? count - 1 - batch : batch) * deep;
    return std::pair{first, std::min(deep, nz_ - first)};
  };
  const auto cells = [&](std::byte* array, std::int64_t first, std::int64_t number) {
    return HostRows{array + first * ny_ * cells_, {}, {number * ny_ * cells_, 1, 1}};
  };
  // [y][z][x] between sweeps of a spectrum that is turned.
  const auto modes = [&](std::byte* array, std::int64_t first, std::int64_t number) {
    if (!cut_.transposed) return HostRows{array + first * plane_, {}, {number * plane_, 1, 1}};
    return HostRows{array + first * row_, {static_cast<std::size_t>(nz_ * row_)}, {number * row_, ny_, 1}};
  };
  const auto rows = [&](std::int64_t batch) {
    const auto [first, number] = range(batch);
    if (way.forward) return HostBatch{{cells(from, first, number)}, {modes(to, first, number)}};
    return HostBatch{{modes(from, first, number)}, {cells(to, first, number)}};
  };
  run(stream, count, rows, [&](Stream& s, std::int64_t batch, std::byte* a, std::byte* b) {
    const std::int64_t number = range(batch).second;
    const BatchWork::Strides left = cut_.transposed ? BatchWork::Strides{1, number * mx_, mx_}
                                                    : BatchWork::Strides{1, mx_, mx_ * ny_},
                             lines{ny_, 1, mx_ * ny_};
    if (way.forward) {
      work_.lines(s, along_x(true), nx_, ny_, number, a, b);
      work_.swap_rows(s, {mx_, ny_, number}, b, a);
      work_.lines(s, Kind::forward, ny_, mx_, number, a, a);
      work_.turn(s, {mx_, ny_, number}, a, lines, b, left);
    } else {
      work_.turn(s, {mx_, ny_, number}, a, left, b, lines);
      work_.lines(s, Kind::backward, ny_, mx_, number, b, b);
      work_.swap_rows(s, {ny_, mx_, number}, b, a);
      work_.lines(s, along_x(false), nx_, ny_, number, a, b);
      work_.scaled(s, b, number * ny_ * cells_ / cut_.word(), way.factor);
    }
  });
}

void OutOfCore::rows_along_x(Stream& stream, Way way, std::byte* from, std::byte* to) {
  const std::int64_t high = std::min(batches_.bytes_of_buffer() / row_ / together * together, ny_);
  const std::int64_t in_plane = parts(ny_, high), count = in_plane * nz_;
  const auto range = [=, this](std::int64_t batch) {
    const std::int64_t n = way.forward ? count - 1 - batch : batch, first = n % in_plane * high;
    return std::pair{n / in_plane * ny_ + first, std::min(high, ny_ - first)};
  };
  const auto rows = [&](std::int64_t batch) {
    const auto [first, number] = range(batch);
    const HostRows cells{(way.forward ? from : to) + first * cells_, {}, {number * cells_, 1, 1}},
        modes{(way.forward ? to : from) + first * row_, {}, {number * row_, 1, 1}};
    return way.forward ? HostBatch{{cells}, {modes}} : HostBatch{{modes}, {cells}};
  };
  run(stream, count, rows, [&](Stream& s, std::int64_t batch, std::byte* a, std::byte* b) {
    const std::int64_t number = range(batch).second;
    work_.lines(s, along_x(way.forward), nx_, number, 1, a, b);
    if (!way.forward) work_.scaled(s, b, number * cells_ / cut_.word(), way.factor);
  });
}

void OutOfCore::columns_along_y(Stream& stream, Way way, std::byte* values) {
  const std::int64_t wide = std::min(batches_.bytes_of_buffer() / (ny_ * value_) / together * together, mx_);
  const std::int64_t in_plane = parts(mx_, wide);
  const auto number = [=, this](std::int64_t batch) { return std::min(wide, mx_ - batch % in_plane * wide); };
  const auto rows = [&](std::int64_t batch) {
    const HostRows columns{values + batch / in_plane * plane_ + batch % in_plane * wide * value_,
                           {static_cast<std::size_t>(row_)},
                           {number(batch) * value_, ny_, 1}};
    return HostBatch{{columns}, {columns}};
  };
  run(stream, in_plane * nz_, rows, [&](Stream& s, std::int64_t batch, std::byte* a, std::byte* b) {
    work_.swap_rows(s, {number(batch), ny_, 1}, a, b);
    work_.lines(s, way.forward ? Kind::forward : Kind::backward, ny_, number(batch), 1, b, b);
    work_.copied(s, a, b, number(batch) * ny_ * value_);
    work_.swap_rows(s, {ny_, number(batch), 1}, a, b);
  });
}

// Planes y, whole or a part of x.
void OutOfCore::lines_along_z(Stream& stream, Way way, std::byte* values) {
  const std::int64_t line = nz_ * value_, room = batches_.bytes_of_buffer();
  const std::int64_t high = std::clamp<std::int64_t>(room / (line * mx_), 1, ny_);
  const std::int64_t wide = room >= line * mx_ ? mx_ : room / line / together * together;
  const std::int64_t in_plane = parts(mx_, wide), count = in_plane * parts(ny_, high);
  struct Part {
    std::int64_t y, x, high, wide;
  };
  const auto part = [=, this](std::int64_t batch) {
    const std::int64_t y = batch / in_plane * high, x = batch % in_plane * wide;
    return Part{y, x, std::min(high, ny_ - y), std::min(wide, mx_ - x)};
  };
  const auto rows = [&](std::int64_t batch) {
    const Part p = part(batch);
    HostRows all{
        values + p.y * row_ + p.x * value_, {static_cast<std::size_t>(plane_)}, {p.high * p.wide * value_, nz_, 1}};
    if (cut_.transposed) all = {values + p.y * nz_ * row_, {}, {p.high * nz_ * row_, 1, 1}};
    return HostBatch{{all}, {all}};
  };
  run(stream, count, rows, [&](Stream& s, std::int64_t batch, std::byte* a, std::byte* b) {
    const Part p = part(batch);
    const Kind kind = way.forward ? Kind::forward : Kind::backward;
    if (!cut_.transposed) {
      const std::int64_t lines = p.high * p.wide;
      work_.swap_rows(s, {lines, nz_, 1}, a, b);
      work_.lines(s, kind, nz_, p.wide, p.high, b, a);
      work_.swap_rows(s, {nz_, lines, 1}, a, b);
    } else if (way.forward) {
      work_.swap_rows(s, {mx_, nz_, p.high}, a, b);
      work_.lines(s, kind, nz_, mx_, p.high, b, b);
    } else {
      work_.lines(s, kind, nz_, mx_, p.high, a, a);
      work_.swap_rows(s, {nz_, mx_, p.high}, a, b);
    }
  });
}

std::string OutOfCore::describe() const {
  return std::string("values in host memory, ") + (splits() ? "three" : "two") + " sweeps each way; " +
         batches_.describe();
}

}  // namespace slipstream::fft
