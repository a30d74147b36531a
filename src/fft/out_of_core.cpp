#include "fft/out_of_core.hpp"

#include <algorithm>
#include <numeric>

#include <slipstream/error.hpp>

#include "machine/agree.hpp"

namespace slipstream::fft {
namespace {

constexpr std::int64_t together = BatchWork::together;
/// The first and the last batch of a sweep overlap with no transfer. A sweep therefore has 32 batches, unless they
/// would be smaller than 8 MB.
constexpr std::int64_t batches_of_sweep = 32, least_batch = 8 << 20;

std::int64_t parts(std::int64_t all, std::int64_t each) { return (all + each - 1) / each; }

/// Batches for a given buffer size in bytes.
struct Cuts {
  Cuts(const Decomposition& cut, std::int64_t buffer)
      : y(counts(cut, Stage::spectral)), z(counts(cut, Stage::physical)) {
    const std::int64_t row = 2 * cut.word() * cut.modes[0];
    deep = std::clamp<std::int64_t>(buffer / (row * buffer_planes(y)), 1, most(z));
    high = std::clamp<std::int64_t>(buffer / (row * buffer_planes(z)), 1, most(y));
    forth = {cut.modes[0], 1, true, y, of_batches(z, deep), cut.complex_type()};
    back = {cut.modes[0], 1, false, z, of_batches(y, high), cut.complex_type()};
    // The forward transform processes its batches from last to first.
    std::reverse(forth.planes.begin(), forth.planes.end());
  }
  BatchCut::Counts y, z;  ///< planes of y and of z, by device
  std::int64_t deep, high;
  BatchCut forth, back;

  static std::int64_t most(const BatchCut::Counts& all) { return *std::max_element(all.begin(), all.end()); }
  /// Planes that a buffer holds for each plane of a batch, before and behind the move.
  static std::int64_t buffer_planes(const BatchCut::Counts& all) {
    return std::max(std::accumulate(all.begin(), all.end(), std::int64_t{0}),
                    static_cast<std::int64_t>(all.size()) * most(all));
  }

 private:
  static BatchCut::Counts counts(const Decomposition& cut, Stage stage) {
    BatchCut::Counts found(static_cast<std::size_t>(cut.devices), 0);
    for (const Block& block : cut.blocks(stage, stage == Stage::physical))
      found[static_cast<std::size_t>(block.device)] = block.box.extents()[2];
    return found;
  }
  static std::vector<BatchCut::Counts> of_batches(const BatchCut::Counts& all, std::int64_t each) {
    std::vector<BatchCut::Counts> found;
    for (std::int64_t first = 0; first < most(all); first += each) {
      found.emplace_back();
      for (const std::int64_t planes : all) found.back().push_back(std::clamp<std::int64_t>(planes - first, 0, each));
    }
    return found;
  }
};

/// Number of buffers, with one more if the FFT library needs a workspace.
std::int64_t shares(const Machine& machine, const Decomposition& cut) {
  LineBatch batch;
  batch.sizes = {cut.cells[0], cut.cells[1], cut.cells[2]};
  batch.count = 1;
  const int workspace = workspace_estimate(machine.device(0).local.backend, batch) > 0 ? 1 : 0;
  return (cut.alone() ? Batches::buffers : Batches::buffers_of_moves) + workspace;
}

std::int64_t least_buffer(const Decomposition& cut) {
  const std::int64_t value = 2 * cut.word();
  std::int64_t bytes = value * together * std::max({cut.modes[0], cut.cells[1], cut.cells[2]});
  if (cut.transposed) {
    const Cuts cuts(cut, 0);
    bytes = value * cut.modes[0] * std::max(Cuts::buffer_planes(cuts.y), Cuts::buffer_planes(cuts.z));
  }
  return (bytes + 255) / 256 * 256;
}

/// Device bytes for buffers of this size.
std::int64_t needed(const Machine& machine, const Decomposition& cut, const FftOptions& options, std::int64_t buffer) {
  std::int64_t bytes = shares(machine, cut) * buffer;
  if (cut.alone()) return bytes;
  const Cuts cuts(cut, buffer);
  for (const BatchCut* move : {&cuts.forth, &cuts.back})
    bytes += BatchMoves::message_bytes(machine, *move, options.exchange);
  return bytes;
}

void check(const Decomposition& cut, const FftOptions& options) {
  require(options.device_memory > 0,
          "a Fourier transform was given " + std::to_string(options.device_memory) +
              " bytes of the device: give a number above 0, or 0 for all it takes",
          {{"option", "device_memory"}, {"given", options.device_memory}});
  require(!cut.pencils(), ErrorCode::unsupported,
          "a Fourier transform by batches cuts slabs, not a process grid of " + std::to_string(cut.process[0]) + " x " +
              std::to_string(cut.process[1]) + ": take fewer devices, or leave process_grid",
          {{"option", "process_grid"}, {"problem", "pencils"}, {"devices", cut.devices}});
  require(cut.alone() || cut.transposed, ErrorCode::unsupported,
          "a Fourier transform by batches on " + std::to_string(cut.devices) +
              " devices leaves the spectrum permuted: make the plan with transposed = true",
          {{"option", "transposed"}, {"devices", cut.devices}});
  require(options.coding.kind == Coding::Kind::raw, ErrorCode::unsupported,
          "a Fourier transform by batches does not support a coding", {{"option", "coding"}});
}

std::int64_t buffer_bytes(const Machine& machine, const Decomposition& cut, const FftOptions& options) {
  check(cut, options);
  const std::int64_t budget = options.device_memory, least = OutOfCore::least_budget(machine, cut, options);
  require(budget >= least, ErrorCode::unsupported,
          "a Fourier transform of " + to_string(cut.cells) + " cells by batches needs " + std::to_string(least) +
              " bytes of each device, and " + std::to_string(budget) + " were given: give those or more" +
              (cut.transposed && cut.alone()
                   ? ", or leave the order of the axes (transposed = false), where planes are split"
                   : ""),
          {{"option", "device_memory"}, {"given", budget}, {"needed", least}});
  const std::int64_t all = 2 * cut.word() * volume(cut.modes) / cut.devices, fewest = least_buffer(cut);
  const std::int64_t wanted = std::max({parts(all, batches_of_sweep), least_batch, fewest});
  std::int64_t buffer = std::min(budget / shares(machine, cut), wanted) / 256 * 256;
  // Messages need more memory with longer batches, so the buffer shrinks until all fits.
  while (buffer > fewest && needed(machine, cut, options, buffer) > budget)
    buffer = std::max(fewest, buffer / 8 * 7 / 256 * 256);
  return buffer;
}

}  // namespace

std::int64_t OutOfCore::least_budget(const Machine& machine, const Decomposition& cut, const FftOptions& options) {
  return needed(machine, cut, options, least_buffer(cut));
}

std::int64_t OutOfCore::taken(const Machine& machine, const Decomposition& cut, const FftOptions& options) {
  return needed(machine, cut, options, buffer_bytes(machine, cut, options));
}

OutOfCore::OutOfCore(const Communicator& comm, const Machine& machine, const Decomposition& cut,
                     const FftOptions& options)
    : cut_(cut),
      nx_(cut.cells[0]),
      mx_(cut.modes[0]),
      ny_(cut.cells[1]),
      nz_(cut.cells[2]),
      value_(2 * cut.word()),
      row_(mx_ * value_),
      plane_(ny_ * row_),
      cells_(cut.real ? nx_ * cut.word() : row_) {
  std::optional<Cuts> cuts;
  on_all_ranks(comm, [&] {
    const std::int64_t buffer = buffer_bytes(machine, cut, options);
    cuts.emplace(cut, buffer);
    for (const int d : machine.devices_of_rank(comm.rank())) {
      devices_.push_back(machine.device(d).local);
      const auto place = static_cast<std::size_t>(d);
      own_.push_back({d, cuts->y[place], cuts->z[place], std::make_unique<BatchWork>(devices_.back(), cut.twice), {}});
    }
    batches_.emplace(devices_, buffer, BatchOptions{options.host_copies, options.synchronous, options.exchange.trace},
                     !cut.alone());
    deep_ = cuts->deep;
    high_ = cuts->high;
  });
  if (!cut.alone()) {
    forth_.emplace(comm, machine, cuts->forth, *batches_, options.exchange);
    back_.emplace(comm, machine, cuts->back, *batches_, options.exchange);
  }
  on_all_ranks(comm, [&] { plan(); });
}

/// Dry run of all work: creates plans and queues nothing.
void OutOfCore::plan() {
  std::vector<Stream> streams;
  for (const Device device : devices_) streams.emplace_back(device);
  const std::vector<void*> none(devices_.size(), nullptr);
  forward(streams, {none.begin(), none.end()}, none);
  backward(streams, {none.begin(), none.end()}, none, 1);
  for (const Own& own : own_) own.work->ready();
  planned_ = true;
}

void OutOfCore::make_room_between() {
  if (cut_.alone()) return;
  for (std::size_t d = 0; d < own_.size(); ++d)
    if (const auto bytes = static_cast<std::size_t>(own_[d].z * plane_); own_[d].between.bytes() < bytes)
      own_[d].between = Buffer<std::byte>(devices_[d], bytes, Memory::pinned);
}

std::int64_t OutOfCore::bytes(std::size_t device) const {
  std::int64_t bytes = batches_->bytes() + own_[device].work->bytes();
  for (const auto* moves : {&forth_, &back_})
    if (*moves) bytes += (*moves)->bytes_on(devices_[device]);
  return bytes;
}

void OutOfCore::check() {
  for (auto* moves : {&forth_, &back_})
    if (*moves) (*moves)->check();
}

Kind OutOfCore::along_x(bool forward) const {
  if (cut_.real) return forward ? Kind::real_to_complex : Kind::complex_to_real;
  return forward ? Kind::forward : Kind::backward;
}

void OutOfCore::forward(std::vector<Stream>& streams, const std::vector<const void*>& from,
                        const std::vector<void*>& to) {
  Arrays source, target;
  // the source arrays are only read
  for (const void* array : from) source.push_back(static_cast<std::byte*>(const_cast<void*>(array)));
  for (void* array : to) target.push_back(static_cast<std::byte*>(array));
  const Way way{true};
  if (splits()) {
    rows_along_x(streams, way, source, target);
    columns_along_y(streams, way, target);
  } else {
    planes(streams, way, source, target);
  }
  lines_along_z(streams, way, target, target);
}

void OutOfCore::backward(std::vector<Stream>& streams, const std::vector<const void*>& from,
                         const std::vector<void*>& to, double factor) {
  Arrays source, between, target;
  for (const void* array : from) source.push_back(static_cast<std::byte*>(const_cast<void*>(array)));
  for (void* array : to) target.push_back(static_cast<std::byte*>(array));
  for (const Own& own : own_) between.push_back(cut_.alone() ? source[between.size()] : own.between.data());
  const Way way{false, factor};
  lines_along_z(streams, way, source, between);
  if (splits()) {
    columns_along_y(streams, way, between);
    rows_along_x(streams, way, between, target);
  } else {
    planes(streams, way, between, target);
  }
}

// In a dry run one buffer stands for all.
void OutOfCore::run(std::vector<Stream>& streams, std::int64_t count, const Batches::Rows& rows,
                    const Batches::Work& work, BatchMove* move) {
  if (planned_) return batches_->run(streams, count, rows, work, move);
  std::byte here[2];
  for (std::size_t d = 0; d < own_.size(); ++d)
    for (std::int64_t batch = 0; batch < count; ++batch) work(streams[d], d, batch, &here[0], &here[1]);
}

// Rows of real values are shorter than rows of modes. In place, the forward transform therefore starts at the end and
// the backward one at the beginning.
void OutOfCore::planes(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to) {
  const std::int64_t count = parts(forth_ ? Cuts::most(back_->cut().parts) : nz_, deep_);
  const auto range = [=, this](std::size_t d, std::int64_t batch) {
    const std::int64_t first = (way.forward ? count - 1 - batch : batch) * deep_;
    return std::pair{first, std::clamp<std::int64_t>(own_[d].z - first, 0, deep_)};
  };
  const auto cells = [&](std::byte* array, std::int64_t first, std::int64_t number) {
    return HostRows{array + first * ny_ * cells_, {}, {number * ny_ * cells_, 1, 1}};
  };
  // Between sweeps a permuted spectrum is [y][z][x].
  const auto modes = [&](std::byte* array, std::int64_t all, std::int64_t first, std::int64_t number) {
    if (!cut_.transposed) return HostRows{array + first * plane_, {}, {number * plane_, 1, 1}};
    return HostRows{array + first * row_, {static_cast<std::size_t>(all * row_)}, {number * row_, ny_, 1}};
  };
  // Host rows for the planes of all devices: rows along x at some z and each y of the device.
  const auto landed = [&](std::size_t d, std::int64_t batch) {
    const BatchCut& cut = forth_->cut();
    const std::int64_t all = cut.all_planes(batch), first = (count - 1 - batch) * deep_;
    std::vector<HostRows> rows;
    std::int64_t before = 0, lowest = 0;
    for (std::size_t s = 0; s < cut.parts.size(); ++s) {
      const std::int64_t number = cut.planes[static_cast<std::size_t>(batch)][s];
      rows.push_back({to[d] + (lowest + first) * row_,
                      {static_cast<std::size_t>(nz_ * row_)},
                      {number * row_, own_[d].y, 1},
                      before * row_,
                      {static_cast<std::size_t>(all * row_), static_cast<std::size_t>(all * row_ * own_[d].y)}});
      before += number;
      lowest += back_->cut().parts[s];
    }
    return rows;
  };
  const auto rows = [&](std::size_t d, std::int64_t batch) {
    const auto [first, number] = range(d, batch);
    HostBatch moving;
    if (way.forward) {
      moving.in = {cells(from[d], first, number)};
      if (forth_) {
        moving.landed = landed(d, batch);
      } else {
        moving.out = {modes(to[d], nz_, first, number)};
      }
    } else {
      moving.in = {modes(from[d], own_[d].z, first, number)};
      moving.out = {cells(to[d], first, number)};
    }
    return moving;
  };
  const auto work = [&](Stream& s, std::size_t d, std::int64_t batch, std::byte* a, std::byte* b) {
    const std::int64_t number = range(d, batch).second;
    if (number == 0) return;
    BatchWork& on = *own_[d].work;
    const BatchWork::Strides left = cut_.transposed ? BatchWork::Strides{1, number * mx_, mx_}
                                                    : BatchWork::Strides{1, mx_, mx_ * ny_},
                             lines{ny_, 1, mx_ * ny_};
    if (way.forward) {
      on.lines(s, along_x(true), nx_, ny_, number, a, b);
      on.swap_rows(s, {mx_, ny_, number}, b, a);
      on.lines(s, Kind::forward, ny_, mx_, number, a, a);
      on.turn(s, {mx_, ny_, number}, a, lines, b, left);
    } else {
      on.turn(s, {mx_, ny_, number}, a, left, b, lines);
      on.lines(s, Kind::backward, ny_, mx_, number, b, b);
      on.swap_rows(s, {ny_, mx_, number}, b, a);
      on.lines(s, along_x(false), nx_, ny_, number, a, b);
      on.scaled(s, b, number * ny_ * cells_ / cut_.word(), way.factor);
    }
  };
  run(streams, count, rows, work, way.forward && forth_ ? &*forth_ : nullptr);
}

void OutOfCore::rows_along_x(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to) {
  const std::int64_t high = std::min(batches_->bytes_of_buffer() / row_ / together * together, ny_);
  const std::int64_t in_plane = parts(ny_, high), count = in_plane * nz_;
  const auto range = [=, this](std::int64_t batch) {
    const std::int64_t n = way.forward ? count - 1 - batch : batch, first = n % in_plane * high;
    return std::pair{n / in_plane * ny_ + first, std::min(high, ny_ - first)};
  };
  const auto rows = [&](std::size_t, std::int64_t batch) {
    const auto [first, number] = range(batch);
    const HostRows cells{(way.forward ? from : to)[0] + first * cells_, {}, {number * cells_, 1, 1}},
        modes{(way.forward ? to : from)[0] + first * row_, {}, {number * row_, 1, 1}};
    return way.forward ? HostBatch{{cells}, {modes}, {}} : HostBatch{{modes}, {cells}, {}};
  };
  run(streams, count, rows, [&](Stream& s, std::size_t, std::int64_t batch, std::byte* a, std::byte* b) {
    const std::int64_t number = range(batch).second;
    own_[0].work->lines(s, along_x(way.forward), nx_, number, 1, a, b);
    if (!way.forward) own_[0].work->scaled(s, b, number * cells_ / cut_.word(), way.factor);
  });
}

void OutOfCore::columns_along_y(std::vector<Stream>& streams, Way way, const Arrays& values) {
  const std::int64_t wide = std::min(batches_->bytes_of_buffer() / (ny_ * value_) / together * together, mx_);
  const std::int64_t in_plane = parts(mx_, wide);
  const auto number = [=, this](std::int64_t batch) { return std::min(wide, mx_ - batch % in_plane * wide); };
  const auto rows = [&](std::size_t, std::int64_t batch) {
    const HostRows columns{values[0] + batch / in_plane * plane_ + batch % in_plane * wide * value_,
                           {static_cast<std::size_t>(row_)},
                           {number(batch) * value_, ny_, 1}};
    return HostBatch{{columns}, {columns}, {}};
  };
  run(streams, in_plane * nz_, rows, [&](Stream& s, std::size_t, std::int64_t batch, std::byte* a, std::byte* b) {
    BatchWork& on = *own_[0].work;
    on.swap_rows(s, {number(batch), ny_, 1}, a, b);
    on.lines(s, way.forward ? Kind::forward : Kind::backward, ny_, number(batch), 1, b, b);
    on.copied(s, a, b, number(batch) * ny_ * value_);
    on.swap_rows(s, {ny_, number(batch), 1}, a, b);
  });
}

// Sweeps over planes of y; on one device a batch may hold a part of x.
void OutOfCore::lines_along_z(std::vector<Stream>& streams, Way way, const Arrays& values, const Arrays& to) {
  const std::int64_t line = nz_ * value_, room = batches_->bytes_of_buffer();
  const std::int64_t wide = room >= line * mx_ ? mx_ : room / line / together * together;
  const std::int64_t in_plane = parts(mx_, wide);
  const std::int64_t count = in_plane * parts(forth_ ? Cuts::most(forth_->cut().parts) : ny_, high_);
  struct Part {
    std::int64_t y, x, high, wide;
  };
  const auto part = [=, this](std::size_t d, std::int64_t batch) {
    const std::int64_t y = batch / in_plane * high_, x = batch % in_plane * wide;
    return Part{y, x, std::clamp<std::int64_t>(own_[d].y - y, 0, high_), std::min(wide, mx_ - x)};
  };
  // Host rows for the planes of all devices: rows along x at some y and each z of the device.
  const auto landed = [&](std::size_t d, std::int64_t batch) {
    const BatchCut& cut = back_->cut();
    const std::int64_t of_plane = own_[d].z * row_;
    std::vector<HostRows> rows;
    std::int64_t before = 0, lowest = 0;
    for (std::size_t s = 0; s < cut.parts.size(); ++s) {
      const std::int64_t number = cut.planes[static_cast<std::size_t>(batch)][s];
      rows.push_back({to[d] + (lowest + batch * high_) * of_plane, {}, {number * of_plane, 1, 1}, before * of_plane});
      before += number;
      lowest += forth_->cut().parts[s];
    }
    return rows;
  };
  const auto rows = [&](std::size_t d, std::int64_t batch) {
    const Part p = part(d, batch);
    HostRows all{
        values[d] + p.y * row_ + p.x * value_, {static_cast<std::size_t>(plane_)}, {p.high * p.wide * value_, nz_, 1}};
    if (cut_.transposed) all = {values[d] + p.y * nz_ * row_, {}, {p.high * nz_ * row_, 1, 1}};
    if (back_ && !way.forward) return HostBatch{{all}, {}, landed(d, batch)};
    return HostBatch{{all}, {all}, {}};
  };
  const auto work = [&](Stream& s, std::size_t d, std::int64_t batch, std::byte* a, std::byte* b) {
    const Part p = part(d, batch);
    if (p.high == 0) return;
    BatchWork& on = *own_[d].work;
    const Kind kind = way.forward ? Kind::forward : Kind::backward;
    if (!cut_.transposed) {
      const std::int64_t lines = p.high * p.wide;
      on.swap_rows(s, {lines, nz_, 1}, a, b);
      on.lines(s, kind, nz_, p.wide, p.high, b, a);
      on.swap_rows(s, {nz_, lines, 1}, a, b);
    } else if (way.forward) {
      on.swap_rows(s, {mx_, nz_, p.high}, a, b);
      on.lines(s, kind, nz_, mx_, p.high, b, b);
    } else {
      on.lines(s, kind, nz_, mx_, p.high, a, a);
      on.swap_rows(s, {nz_, mx_, p.high}, a, b);
    }
  };
  run(streams, count, rows, work, back_ && !way.forward ? &*back_ : nullptr);
}

std::string OutOfCore::describe() const {
  return std::string("values in host memory, ") + (splits() ? "three" : "two") + " sweeps each way; " +
         batches_->describe();
}

}  // namespace slipstream::fft
