#include "fft/out_of_core.hpp"

#include <algorithm>
#include <numeric>

#include <slipstream/error.hpp>

#include "device/host_memory.hpp"
#include "machine/agree.hpp"

namespace slipstream::fft {
namespace {

constexpr std::int64_t together = BatchWork::together;
/// Number of batches in a sweep, which passes all values through the devices once. The first and the last batch overlap
/// with no transfer, so there are 32, unless they would be smaller than 8 MB.
constexpr std::int64_t batches_of_sweep = 32, least_batch = 8 << 20;

std::int64_t parts(std::int64_t all, std::int64_t each) { return (all + each - 1) / each; }

BatchCut::Counts planes_by_device(const Decomposition& cut, Stage stage) {
  BatchCut::Counts found(static_cast<std::size_t>(cut.devices), 0);
  for (const Block& block : cut.blocks(stage, stage == Stage::physical))
    found[static_cast<std::size_t>(block.device)] = block.box.extents()[2];
  return found;
}
std::int64_t most(const BatchCut::Counts& all) { return *std::max_element(all.begin(), all.end()); }
/// Number of rows along x per plane of an out-of-core batch that a buffer must hold before and after a transpose.
std::int64_t buffer_planes(const BatchCut::Counts& all) {
  return std::max(std::accumulate(all.begin(), all.end(), std::int64_t{0}),
                  static_cast<std::int64_t>(all.size()) * most(all));
}

/// Divides a transform into batches for buffers of some bytes. If planes are too long, modes along x are cut into
/// pieces of equal width; a plane is whole if it has one piece.
struct Cuts {
  Cuts(const Decomposition& cut, std::int64_t buffer)
      : y(planes_by_device(cut, Stage::spectral)), z(planes_by_device(cut, Stage::physical)) {
    const std::int64_t value = 2 * cut.word(), all = cut.modes[0], row = value * all;
    splits = row * buffer_planes(y) > buffer;
    const std::int64_t line = value * std::max(buffer_planes(z), splits ? buffer_planes(y) : 0);
    wide = even_pieces(all, buffer / line);
    deep = splits ? 1 : std::clamp<std::int64_t>(buffer / (row * buffer_planes(y)), 1, most(z));
    high = wide < all ? 1 : std::clamp<std::int64_t>(buffer / (row * buffer_planes(z)), 1, most(y));
    forth = {1, true, y, by_planes(z, deep), widths(all, splits ? wide : all), cut.complex_type()};
    back = {1, false, z, by_planes(y, high), widths(all, wide), cut.complex_type()};
    // The last planes are transformed first: in place, longer rows of modes would overwrite cells of later planes.
    if (!splits) std::reverse(forth.planes.begin(), forth.planes.end());
  }
  BatchCut::Counts y, z;  ///< numbers of planes y and of planes z, by device
  bool splits;            ///< whether lines along x and along y need a pass over all values each
  std::int64_t wide, deep, high;
  BatchCut forth, back;

 private:
  static std::vector<BatchCut::Counts> by_planes(const BatchCut::Counts& all, std::int64_t each) {
    std::vector<BatchCut::Counts> found;
    for (std::int64_t first = 0; first < most(all); first += each) {
      found.emplace_back();
      for (const std::int64_t planes : all) found.back().push_back(std::clamp<std::int64_t>(planes - first, 0, each));
    }
    return found;
  }
};

/// Number of equal buffers into which device memory is divided, with one more if the FFT library needs a workspace.
std::int64_t shares(const Machine& machine, const Decomposition& cut) {
  LineBatch batch;
  batch.sizes = {cut.cells[0], cut.cells[1], cut.cells[2]};
  batch.count = 1;
  const int workspace = workspace_estimate(machine.device(0).local.backend, batch) > 0 ? 1 : 0;
  return (cut.alone() ? Batches::buffers : Batches::buffers_of_moves) + workspace;
}

std::int64_t buffer_of(std::int64_t bytes) { return parts(bytes, 256) * 256; }

/// Bytes of the smallest buffer that suffices for a transform: it holds a few lines. plane_buffer(): for whole planes.
std::int64_t least_buffer(const Decomposition& cut) {
  const std::int64_t wide = std::min(together, cut.modes[0]), high = std::min(together, cut.cells[1]);
  return buffer_of(2 * cut.word() *
                   std::max({wide * buffer_planes(planes_by_device(cut, Stage::spectral)),
                             wide * buffer_planes(planes_by_device(cut, Stage::physical)), high * cut.modes[0]}));
}
std::int64_t plane_buffer(const Decomposition& cut) {
  return buffer_of(2 * cut.word() * cut.modes[0] *
                   std::max(buffer_planes(planes_by_device(cut, Stage::spectral)),
                            buffer_planes(planes_by_device(cut, Stage::physical))));
}

/// Bytes of device memory that a transform needs with buffers of `buffer` bytes.
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

/// Throws unless the nodes have pinned memory for the values between two passes of an out-of-core backward transform.
void check_host_memory(const Machine& machine, const Decomposition& cut) {
  if (cut.alone()) return;
  std::vector<std::uint64_t> of(static_cast<std::size_t>(machine.nodes()), 0);
  for (int d = 0; d < cut.devices; ++d)
    of[static_cast<std::size_t>(machine.device(d).node)] +=
        static_cast<std::uint64_t>(2 * cut.word() * cut.volume_on(d, Stage::physical));
  const std::uint64_t needed = *std::max_element(of.begin(), of.end()), free = host_memory_free();
  require(free == 0 || needed <= free, ErrorCode::out_of_memory,
          "a Fourier transform of " + to_string(cut.cells) + " cells by batches takes " + std::to_string(needed) +
              " bytes of host memory a node between its sweeps, and " + std::to_string(free) +
              " are free: take fewer cells, or more nodes",
          {{"option", "cells"}, {"needed", needed}, {"available", free}});
}

std::int64_t buffer_bytes(const Machine& machine, const Decomposition& cut, const FftOptions& options) {
  check(cut, options);
  const std::int64_t budget = options.device_memory, least = OutOfCore::least_budget(machine, cut, options);
  require(budget >= least, ErrorCode::unsupported,
          "a Fourier transform of " + to_string(cut.cells) + " cells by batches needs " + std::to_string(least) +
              " bytes of each device, and " + std::to_string(budget) + " were given: give those or more",
          {{"option", "device_memory"}, {"given", budget}, {"needed", least}});
  const std::int64_t all = 2 * cut.word() * volume(cut.modes) / cut.devices, fewest = least_buffer(cut);
  const std::int64_t wanted = std::max({parts(all, batches_of_sweep), least_batch, plane_buffer(cut)});
  std::int64_t buffer = std::min(budget / shares(machine, cut), wanted) / 256 * 256;
  // Longer batches need more memory for messages, so the buffer shrinks until all fits.
  while (buffer > fewest && needed(machine, cut, options, buffer) > budget)
    buffer = std::max(fewest, buffer / 8 * 7 / 256 * 256);
  return buffer;
}

}  // namespace

std::int64_t OutOfCore::least_budget(const Machine& machine, const Decomposition& cut, const FftOptions& options) {
  return needed(machine, cut, options, least_buffer(cut));
}

std::int64_t OutOfCore::plane_budget(const Machine& machine, const Decomposition& cut, const FftOptions& options) {
  return needed(machine, cut, options, plane_buffer(cut));
}

bool OutOfCore::splits(const Machine& machine, const Decomposition& cut, const FftOptions& options) {
  return Cuts(cut, buffer_bytes(machine, cut, options)).splits;
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
    check_host_memory(machine, cut);
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
    wide_ = cuts->wide;
    splits_ = cuts->splits;
  });
  if (!cut.alone()) {
    forth_.emplace(comm, machine, cuts->forth, *batches_, options.exchange);
    back_.emplace(comm, machine, cuts->back, *batches_, options.exchange);
  }
  on_all_ranks(comm, [&] { plan(); });
}

/// Dry run of both transforms: creates the plans of line transforms and queues no work.
void OutOfCore::plan() {
  std::vector<Stream> streams;
  for (const Device device : devices_) streams.emplace_back(device);
  const std::vector<void*> none(devices_.size(), nullptr);
  forward(streams, {none.begin(), none.end()}, none);
  backward(streams, {none.begin(), none.end()}, none, 1);
  for (const Own& own : own_) own.work->ready();
  planned_ = true;
}

void OutOfCore::make_room_between(bool forward) {
  if (cut_.alone() || (forward && !splits_)) return;
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
  // source arrays are never written, so the cast is safe
  for (const void* array : from) source.push_back(static_cast<std::byte*>(const_cast<void*>(array)));
  for (void* array : to) target.push_back(static_cast<std::byte*>(array));
  const Way way{true};
  if (splits_) {
    const Arrays between = between_or(target);
    rows_along_x(streams, way, source, between);
    columns_along_y(streams, way, between, target);
  } else {
    planes(streams, way, source, target);
  }
  lines_along_z(streams, way, target, target);
}

void OutOfCore::backward(std::vector<Stream>& streams, const std::vector<const void*>& from,
                         const std::vector<void*>& to, double factor) {
  Arrays source, target;
  for (const void* array : from) source.push_back(static_cast<std::byte*>(const_cast<void*>(array)));
  for (void* array : to) target.push_back(static_cast<std::byte*>(array));
  const Arrays between = between_or(source);
  const Way way{false, factor};
  lines_along_z(streams, way, source, between);
  if (splits_) {
    columns_along_y(streams, way, between, between);
    rows_along_x(streams, way, between, target);
  } else {
    planes(streams, way, between, target);
  }
}

OutOfCore::Arrays OutOfCore::between_or(const Arrays& other) const {
  if (cut_.alone()) return other;
  Arrays between;
  for (const Own& own : own_) between.push_back(own.between.data());
  return between;
}

// Passes all batches through the devices. While plans are made no work is queued, so input and output share a buffer.
void OutOfCore::run(std::vector<Stream>& streams, std::int64_t count, const Batches::Rows& rows,
                    const Batches::Work& work, BatchMove* move) {
  if (planned_) return batches_->run(streams, count, rows, work, move);
  std::byte here[2];
  for (std::size_t d = 0; d < own_.size(); ++d)
    for (std::int64_t batch = 0; batch < count; ++batch) work(streams[d], d, batch, &here[0], &here[1]);
}

// Rows of host memory that hold a box of Fourier modes of an out-of-core FFT. Layout: [z][y][x], or, if transposed,
// [y][range of x][z][x in the range], so that a batch of lines along z is contiguous.
std::vector<HostRows> OutOfCore::modes(std::byte* array, std::int64_t all_z, const Part& part, std::int64_t at,
                                       std::int64_t z_of_buffer) const {
  const auto& [x, y, z] = part;
  const std::int64_t row = x.number * value_;
  const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  if (x.number * y.number * z.number == 0) return {};
  if (!cut_.transposed)
    return {{array + z.first * plane_ + y.first * row_ + x.first * value_,
             {bytes(row_), bytes(plane_)},
             {row, y.number, z.number},
             at}};
  std::vector<HostRows> rows;
  for (std::int64_t first = x.first; first < x.first + x.number; first += wide_) {
    const std::int64_t piece = std::min(wide_, mx_ - first) * value_;
    rows.push_back({array + (y.first * row_ + first * value_) * all_z + z.first * piece,
                    {bytes(piece), bytes(row_ * all_z)},
                    {piece, z.number, y.number},
                    at + (first - x.first) * value_,
                    {bytes(row), bytes(row * (z_of_buffer ? z_of_buffer : z.number))}});
  }
  return rows;
}

// Rows of host memory for values received from other devices' planes z: lines along x for each own y.
std::vector<HostRows> OutOfCore::received_permuted(std::size_t d, std::int64_t batch, std::byte* to, Range x,
                                                   std::int64_t first) const {
  const BatchCut& cut = forth_->cut();
  const std::int64_t all = cut.all_planes(batch);
  std::vector<HostRows> rows;
  std::int64_t before = 0, lowest = 0;
  for (std::size_t s = 0; s < cut.parts.size(); ++s) {
    const std::int64_t number = cut.planes_of(batch)[s];
    for (const HostRows& part :
         modes(to, nz_, {x, {0, own_[d].y}, {lowest + first, number}}, before * x.number * value_, all))
      rows.push_back(part);
    before += number;
    lowest += back_->cut().parts[s];
  }
  return rows;
}

// Rows of host memory for values received from other devices' planes y, at the z of this device.
std::vector<HostRows> OutOfCore::received_back(std::size_t d, std::int64_t batch, std::byte* to, Range x,
                                               std::int64_t first) const {
  const BatchCut& cut = back_->cut();
  const std::int64_t all = own_[d].z;
  std::vector<HostRows> rows;
  std::int64_t before = 0, lowest = 0;
  for (std::size_t s = 0; s < cut.parts.size(); ++s) {
    const std::int64_t number = cut.planes_of(batch)[s];
    for (const HostRows& part :
         modes(to, all, {x, {lowest + first, number}, {0, all}}, before * all * x.number * value_))
      rows.push_back(part);
    before += number;
    lowest += forth_->cut().parts[s];
  }
  return rows;
}

std::int64_t OutOfCore::most_y() const { return forth_ ? most(forth_->cut().parts) : ny_; }
std::int64_t OutOfCore::most_z() const { return back_ ? most(back_->cut().parts) : nz_; }

OutOfCore::Range OutOfCore::piece(std::int64_t n) const {
  const std::int64_t first = n % pieces() * wide_;
  return {first, std::min(wide_, mx_ - first)};
}

// Transforms planes of x and y. Rows of real values are shorter than rows of modes. In place, the forward transform
// therefore begins at the end, and the backward one at the beginning.
void OutOfCore::planes(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to) {
  const std::int64_t count = parts(most_z(), deep_);
  const auto range = [=, this](std::size_t d, std::int64_t batch) {
    const std::int64_t first = (way.forward ? count - 1 - batch : batch) * deep_;
    return Range{first, std::clamp<std::int64_t>(own_[d].z - first, 0, deep_)};
  };
  const auto rows = [&](std::size_t d, std::int64_t batch) {
    const Range z = range(d, batch);
    const HostRows cells{(way.forward ? from : to)[d] + z.first * ny_ * cells_, {}, {z.number * ny_ * cells_, 1, 1}};
    const Part part{{0, mx_}, {0, ny_}, z};
    if (!way.forward) return HostBatch{modes(from[d], own_[d].z, part), {cells}, {}};
    if (forth_) return HostBatch{{cells}, {}, received_permuted(d, batch, to[d], part.x, z.first)};
    return HostBatch{{cells}, modes(to[d], nz_, part), {}};
  };
  const auto work = [&](Stream& s, std::size_t d, std::int64_t batch, std::byte* a, std::byte* b) {
    const std::int64_t number = range(d, batch).number;
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

// Transforms lines along x. In place it goes in the order of planes(), to overwrite no value that it still needs.
void OutOfCore::rows_along_x(std::vector<Stream>& streams, Way way, const Arrays& from, const Arrays& to) {
  const std::int64_t room = batches_->bytes_of_buffer(), high = room < plane_ ? room / row_ / together * together : ny_;
  const std::int64_t in_plane = parts(ny_, high), count = in_plane * most_z();
  const auto part = [=, this](std::size_t d, std::int64_t batch) {
    const std::int64_t n = way.forward ? count - 1 - batch : batch, y = n % in_plane * high, z = n / in_plane;
    return Part{{0, mx_}, {y, std::min(high, ny_ - y)}, {z, z < own_[d].z ? 1 : 0}};
  };
  const auto rows = [&](std::size_t d, std::int64_t batch) {
    const Part p = part(d, batch);
    const HostRows cells{(way.forward ? from : to)[d] + (p.z.first * ny_ + p.y.first) * cells_,
                         {},
                         {p.z.number * p.y.number * cells_, 1, 1}};
    const std::vector<HostRows> there = modes((way.forward ? to : from)[d], own_[d].z, p);
    return way.forward ? HostBatch{{cells}, there, {}} : HostBatch{there, {cells}, {}};
  };
  run(streams, count, rows, [&](Stream& s, std::size_t d, std::int64_t batch, std::byte* a, std::byte* b) {
    const Part p = part(d, batch);
    if (p.z.number == 0) return;
    BatchWork& on = *own_[d].work;
    on.lines(s, along_x(way.forward), nx_, p.y.number, 1, a, b);
    if (!way.forward) on.scaled(s, b, p.y.number * cells_ / cut_.word(), way.factor);
  });
}

void OutOfCore::columns_along_y(std::vector<Stream>& streams, Way way, const Arrays& values, const Arrays& to) {
  const bool moves = way.forward && forth_;
  const auto part = [=, this](std::size_t d, std::int64_t batch) {
    const std::int64_t z = batch / pieces();
    return Part{piece(batch), {0, ny_}, {z, z < own_[d].z ? 1 : 0}};
  };
  const auto rows = [&](std::size_t d, std::int64_t batch) {
    const Part p = part(d, batch);
    const std::vector<HostRows> columns = modes(values[d], own_[d].z, p);
    if (moves) return HostBatch{columns, {}, received_permuted(d, batch, to[d], p.x, p.z.first)};
    return HostBatch{columns, columns, {}};
  };
  const auto work = [&](Stream& s, std::size_t d, std::int64_t batch, std::byte* a, std::byte* b) {
    const Part p = part(d, batch);
    if (p.z.number == 0) return;
    BatchWork& on = *own_[d].work;
    on.swap_rows(s, {p.x.number, ny_, 1}, a, b);
    on.lines(s, way.forward ? Kind::forward : Kind::backward, ny_, p.x.number, 1, b, b);
    on.copied(s, a, b, p.x.number * ny_ * value_);
    on.swap_rows(s, {ny_, p.x.number, 1}, a, b);
  };
  run(streams, pieces() * most_z(), rows, work, moves ? &*forth_ : nullptr);
}

// Transforms lines along z in batches of planes of constant y, or of some modes along x if a plane exceeds a buffer.
void OutOfCore::lines_along_z(std::vector<Stream>& streams, Way way, const Arrays& values, const Arrays& to) {
  const bool moves = !way.forward && back_;
  const auto part = [=, this](std::size_t d, std::int64_t batch) {
    const std::int64_t y = batch / pieces() * high_;
    return Part{piece(batch), {y, std::clamp<std::int64_t>(own_[d].y - y, 0, high_)}, {0, nz_}};
  };
  const auto rows = [&](std::size_t d, std::int64_t batch) {
    const Part p = part(d, batch);
    const std::vector<HostRows> across = modes((way.forward ? values : to)[d], nz_, p);
    if (!cut_.transposed) return HostBatch{across, across, {}};
    const HostRows along{(way.forward ? to : values)[d] + (p.y.first * mx_ + p.x.first) * nz_ * value_,
                         {},
                         {p.y.number * p.x.number * nz_ * value_, 1, 1}};
    if (way.forward) return HostBatch{across, {along}, {}};
    if (moves) return HostBatch{{along}, {}, received_back(d, batch, to[d], p.x, p.y.first)};
    return HostBatch{{along}, across, {}};
  };
  const auto work = [&](Stream& s, std::size_t d, std::int64_t batch, std::byte* a, std::byte* b) {
    const Part p = part(d, batch);
    const std::int64_t wide = p.x.number, high = p.y.number;
    if (high == 0) return;
    BatchWork& on = *own_[d].work;
    const Kind kind = way.forward ? Kind::forward : Kind::backward;
    if (!cut_.transposed) {
      on.swap_rows(s, {high * wide, nz_, 1}, a, b);
      on.lines(s, kind, nz_, wide, high, b, a);
      on.swap_rows(s, {nz_, high * wide, 1}, a, b);
    } else if (way.forward) {
      on.swap_rows(s, {wide, nz_, high}, a, b);
      on.lines(s, kind, nz_, wide, high, b, b);
    } else {
      on.lines(s, kind, nz_, wide, high, a, a);
      on.swap_rows(s, {nz_, wide, high}, a, b);
    }
  };
  run(streams, pieces() * parts(most_y(), high_), rows, work, moves ? &*back_ : nullptr);
}

std::string OutOfCore::describe() const {
  return std::string("values in host memory, ") + (splits_ ? "three" : "two") + " sweeps each way; " +
         batches_->describe();
}

}  // namespace slipstream::fft
