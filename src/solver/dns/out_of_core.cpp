#include "solver/dns/out_of_core.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <slipstream/batches.hpp>

#include "fft/batch_moves.hpp"
#include "fft/batch_work.hpp"
#include "fft/decomposition.hpp"
#include "machine/agree.hpp"
#include "solver/dns/impl.hpp"
#include "solver/dns/planes.hpp"
#include "solver/dns/terms.hpp"

namespace slipstream::dns {
namespace {

using fft::BatchCut;
using fft::BatchMoves;
using fft::BatchWork;
using fft::Kind;

/// A budget is shared by the buffers of batches, the work's own arrays and the library's workspace: so many buffers.
constexpr int own_buffers = 4;
std::int64_t shares(int devices) {
  return (devices > 1 ? Batches::buffers_of_moves : Batches::buffers) + own_buffers + 1;
}
/// A sweep has so many batches, where memory allows: nothing travels beside the first and the last.
constexpr std::int64_t batches_of_sweep = 32, least_batch = 8 << 20;
/// Fields that go from planes y to planes z: u, v, w and the derivatives of u and v along z; each scalar and its own.
int fields_there(const Options& o) { return 5 + 2 * scalars_of(o); }
/// A batch of planes y brings the product's three fields, u, the sum and, for forced rk4, what was next. It leaves five
/// fields between the sweeps and what a stage computes.
int fields_of_stage(const Options& o) {
  return o.scheme == Scheme::rk2 ? 8 + 3 * scalars_of(o) : 12 + 4 * scalars_of(o);
}
/// As many shells as a spectrum has, or a few more.
std::int64_t most_shells(const Options& o) {
  const ModeGrid grid = wave_numbers(o);
  double most = 0;
  for (std::size_t a = 0; a < 3; ++a) most += grid.highest[a] * (grid.wave[a] / grid.shell);
  return static_cast<std::int64_t>(most) + 2;
}

std::int64_t even(std::int64_t numbers) { return (numbers + 3) / 4 * 4; }

/// Some planes.
struct Slab {
  std::int64_t first = 0, planes = 0;
};

struct Sizes {
  explicit Sizes(const Options& o)
      : nx(o.cells[0]),
        ny(o.cells[1]),
        nz(o.cells[2]),
        mx(nx / 2 + 1),
        wide(highest_mode(o, 0) + 1),
        highest_y(highest_mode(o, 1)) {}
  std::int64_t nx, ny, nz, mx, wide, highest_y;
  std::int64_t high() const { return 2 * highest_y + 1; }
  /// Complex values of a plane y of modes, and of a plane z between the sweeps and in the work's arrays.
  std::int64_t of_y() const { return wide * nz; }
  std::int64_t between() const { return wide * high(); }
  std::int64_t of_z() const { return mx * ny; }
  /// The index along y of a place among the kept ones, and how many are kept below an index.
  std::int64_t index_y(std::int64_t place) const { return place <= highest_y ? place : place + ny - high(); }
  std::int64_t kept_below(std::int64_t y) const {
    return std::min(y, highest_y + 1) + std::max<std::int64_t>(0, y - (ny - highest_y));
  }
};

std::int64_t parts(std::int64_t all, std::int64_t each) { return (all + each - 1) / each; }
std::int64_t whole_lines(std::int64_t bytes) { return parts(bytes, 256) * 256; }

/// Each device of the machine has planes y, by index and by place among the kept ones, and planes z.
struct Shares {
  Shares(const Machine& machine, const Options& options) {
    const Sizes s(options);
    const fft::Decomposition cut(machine, options.cells, transform_options(options));
    const auto devices = static_cast<std::size_t>(cut.devices);
    y.resize(devices);
    places.resize(devices);
    z.resize(devices);
    for (const Block& block : cut.blocks(fft::Stage::spectral)) {
      const std::int64_t lo = block.box.lo[2], hi = block.box.hi[2], first = s.kept_below(lo);
      y[static_cast<std::size_t>(block.device)] = {lo, hi - lo};
      places[static_cast<std::size_t>(block.device)] = {first, s.kept_below(hi) - first};
    }
    for (const Block& block : cut.blocks(fft::Stage::physical, true))
      z[static_cast<std::size_t>(block.device)] = {block.box.lo[2], block.box.extent(2)};
  }
  std::vector<Slab> y, places, z;
  int devices() const { return static_cast<int>(z.size()); }
  static std::int64_t most(const std::vector<Slab>& of) {
    std::int64_t planes = 0;
    for (const Slab& slab : of) planes = std::max(planes, slab.planes);
    return planes;
  }
};

/// Bytes of a buffer that a plane of each sweep takes: its fields, before and behind a move, or its share of the work's
/// own arrays. These hold the products of a plane y and what it leaves. They hold six components in cells of a plane z,
/// and what becomes of one.
struct Planes {
  Planes(const Shares& of, const Options& o) {
    const Sizes s(o);
    const auto value = 2 * static_cast<std::int64_t>(size_of(o.type));
    const std::int64_t devices = of.devices(), there = fields_there(o), back = components_of(o);
    y = std::max(value * std::max(fields_of_stage(o) * s.of_y(), there * s.wide * devices * Shares::most(of.z)),
                 static_cast<std::int64_t>(sizeof(double)) * most_shells(o));
    z = value * std::max({there * s.between(), back * s.wide * devices * Shares::most(of.places),
                          3 * s.of_z() + 9 * s.ny, parts(5 * s.of_z() + 16, own_buffers)});
    most_y = planes(Shares::most(of.places), y);
    most_z = planes(Shares::most(of.z), z);
  }
  std::int64_t y, z;
  std::int64_t most_y, most_z;  ///< of a batch
  std::int64_t least() const { return whole_lines(std::max(y, z)); }
  std::int64_t wanted() const { return whole_lines(std::max(most_y * y, most_z * z)); }

 private:
  static std::int64_t planes(std::int64_t all, std::int64_t bytes) {
    return std::clamp<std::int64_t>(std::max(parts(all, batches_of_sweep), least_batch / bytes), 1, all);
  }
};

/// How a buffer of some bytes cuts the planes into batches.
struct Cuts {
  Cuts(const Shares& of, const Options& o, std::int64_t buffer) {
    const Sizes s(o);
    const Planes planes(of, o);
    deep = std::clamp<std::int64_t>(buffer / planes.z, 1, planes.most_z);
    const std::int64_t thick = std::clamp<std::int64_t>(buffer / planes.y, 1, planes.most_y);
    std::size_t most = 0;
    for (const Slab& places : of.places) {
      std::vector<Slab>& all = slabs.emplace_back();
      const std::int64_t end = places.first + places.planes;
      // Those of negative k_y begin a batch of their own.
      for (std::int64_t first = places.first; first < end;) {
        const std::int64_t behind = first <= s.highest_y ? std::min(s.highest_y + 1, end) : end;
        all.push_back({first, std::min(thick, behind - first)});
        first += all.back().planes;
      }
      most = std::max(most, all.size());
    }
    for (std::vector<Slab>& all : slabs) all.resize(most);
    const DType type = o.type == DType::f64 ? DType::c128 : DType::c64;
    of_y = {s.wide, fields_there(o), false, {}, {}, type};
    of_z = {s.wide, components_of(o), true, {}, {}, type};
    for (const Slab& z : of.z) of_y.parts.push_back(z.planes);
    for (const Slab& places : of.places) of_z.parts.push_back(places.planes);
    for (std::size_t n = 0; n < most; ++n) {
      of_y.planes.emplace_back();
      for (const std::vector<Slab>& all : slabs) of_y.planes.back().push_back(all[n].planes);
    }
    for (std::int64_t first = 0; first < Shares::most(of.z); first += deep) {
      of_z.planes.emplace_back();
      for (const Slab& z : of.z) of_z.planes.back().push_back(std::clamp<std::int64_t>(z.planes - first, 0, deep));
    }
  }
  std::int64_t deep = 1;                 ///< planes z of a batch
  std::vector<std::vector<Slab>> slabs;  ///< by device and batch, planes y by place; none at the end where others have
  BatchCut of_y, of_z;
};

/// Bytes of a device.
std::int64_t needed(const Machine& machine, const Shares& of, const Options& options, std::int64_t buffer) {
  std::int64_t bytes = shares(of.devices()) * buffer;
  if (of.devices() == 1) return bytes;
  const Cuts cuts(of, options, buffer);
  for (const BatchCut* move : {&cuts.of_y, &cuts.of_z})
    bytes += BatchMoves::message_bytes(machine, *move, options.exchange);
  return bytes;
}

std::int64_t buffer_of(const Machine& machine, const Shares& of, const Options& options, std::int64_t budget) {
  const Planes planes(of, options);
  std::int64_t buffer = std::max(std::min(budget / shares(of.devices()) / 256 * 256, planes.wanted()), planes.least());
  // Messages take more with longer batches.
  while (buffer > planes.least() && needed(machine, of, options, buffer) > budget)
    buffer = std::max(planes.least(), buffer / 8 * 7 / 256 * 256);
  return buffer;
}

template <class T>
class Flow final : public OutOfCore {
 public:
  Flow(const Communicator& comm, const Machine& machine, const Options& options, std::int64_t budget)
      : options_(options), waves_(wave_numbers(options)), s_(options), shares_(machine, options) {
    std::optional<Cuts> cuts;
    on_all_ranks(comm, [&] {
      const std::int64_t buffer = buffer_of(machine, shares_, options, budget);
      cuts.emplace(shares_, options, buffer);
      deep_ = cuts->deep;
      slabs_ = cuts->slabs;
      std::vector<Device> places;
      for (const int d : machine.devices_of_rank(comm.rank())) {
        const Device place = machine.device(d).local;
        const auto n = static_cast<std::size_t>(d);
        places.push_back(place);
        Own& own = own_.emplace_back();
        own.device = place;
        own.number = n;
        own.y = shares_.y[n];
        own.places = shares_.places[n];
        own.z = shares_.z[n];
        const auto pinned = [&](std::int64_t bytes) {
          return Buffer<std::byte>(place, static_cast<std::size_t>(bytes), Memory::pinned);
        };
        own.lines = pinned((alone() ? there() : back()) * own.places.planes * s_.of_y() * value);
        if (!alone()) own.planes = pinned(there() * s_.between() * own.z.planes * value);
        const std::int64_t of_place = std::max(9 * s_.mx, most_shells(options));
        own.doubles = Buffer<double>(
            place, static_cast<std::size_t>(std::max(9 * s_.ny * own.z.planes, own.places.planes * of_place)),
            Memory::pinned);
        own.memory = Buffer<std::byte>(place, static_cast<std::size_t>(own_buffers * buffer));
        own.work = std::make_unique<BatchWork>(place, sizeof(T) == 8);
      }
      batches_.emplace(places, buffer, BatchOptions{options.host_copies, options.synchronous, options.exchange.trace},
                       !alone());
    });
    if (!alone()) {
      of_y_.emplace(comm, machine, cuts->of_y, *batches_, options.exchange);
      of_z_.emplace(comm, machine, cuts->of_z, *batches_, options.exchange);
    }
    on_all_ranks(comm, [&] { plan(); });
  }

  void open(Streams& streams, const HostArrays& modes, const Angles& turn) override {
    over_y(
        streams, true,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = modes_of(own, modes, slab(own, n), back(), 0);
          leaves(own, n, there(), batch);
        },
        [&](Stream& s, const Own& own, const Slab& b, T* from, T* to) {
          leave(s, own, b, {from, numbers(b)}, memory_of(own), to, turn);
        });
  }

  void products(Streams& streams, const std::optional<std::array<double, 3>>& scale) override {
    const auto bytes_of = [&](std::int64_t planes) { return back() * planes * s_.between() * value; };
    over_z(
        streams, true,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Slab b = planes(own, n);
          batch.in = planes_of(own, b, there());
          if (alone()) {
            batch.out = planes_of(own, b, back());
          } else {
            batch.landed = lines_that_land(own, n);
          }
          if (scale && b.planes > 0)
            batch.out.push_back(doubles_of(own, s_.ny * b.first, s_.ny * b.planes, bytes_of(b.planes))[0]);
        },
        [&](Stream& s, const Own& own, const PlaneGrid& grid, T* from, T* to) {
          const Extent block{s_.nx, s_.ny, grid.planes};
          const std::int64_t apart = even(volume(block));
          const Three<T> u{memory_of(own), apart}, w{memory_of(own) + 3 * apart, apart};
          for (int c = 0; c < 6; ++c) to_cells(s, own, grid, c, from, u.at + c * apart);
          if (scale)
            queue(own, [&] {
              queue_line_speeds<T>(s, block, u, *scale, reinterpret_cast<double*>(to + bytes_of(grid.planes) / size));
            });
          queue(own, [&] { queue_cross<T>(s, block, u, w, options_.rotation); });
          for (int c = 0; c < 3; ++c) to_modes(s, own, grid, w.at + c * apart, to + c * 2 * grid.volume());
          for (int n = 0; n < scalars_of(options_); ++n) {
            for (int a = 0; a < 3; ++a) to_cells(s, own, grid, 6 + 3 * n + a, from, w.at + a * apart);
            queue(own,
                  [&] { Terms<T>::advection(s, block, u, w, options_.scalars[static_cast<std::size_t>(n)].gradient); });
            to_modes(s, own, grid, w.at, to + (3 + n) * 2 * grid.volume());
          }
        });
    if (scale) speeds_ = taken(streams, [&](const Own& own) { return s_.ny * own.z.planes; });
  }

  const std::vector<std::vector<double>>& speeds() const override { return speeds_; }

  void stage(Streams& streams, const StageFactors& factors, const StageNumbers& numbers_of_stage,
             const HostModes& arrays, const std::vector<Accelerations>& accelerations, const Angles& undo,
             const Angles& turn) override {
    const bool keeps = !arrays.next.empty(), in_middle = !factors.first && !factors.last;
    const bool reads_next = keeps && !factors.first && factors.pushes, writes_next = keeps && !factors.last;
    // The places of fields.
    const std::int64_t all = back(), u = all, sum = factors.last ? all : 2 * all,
                       next = all * (1 + !factors.last + !factors.first);
    const auto rows = [&](const Own& own, std::int64_t n, HostBatch& batch) {
      const Slab b = slab(own, n);
      batch.in = lines_of(own, b, back());
      leaves(own, n, there(), batch);
      const auto add = [&](std::vector<HostRows>& to, const HostArrays& array, int count, std::int64_t at) {
        for (const HostRows& row : modes_of(own, array, b, count, at)) to.push_back(row);
      };
      if (!factors.last) add(batch.in, arrays.modes, back(), u);
      if (!factors.first) add(batch.in, arrays.sum, back(), sum);
      if (reads_next) add(batch.in, arrays.next, 3, next);
      add(batch.out, factors.last ? arrays.modes : arrays.sum, back(), there());
      if (writes_next) add(batch.out, arrays.next, 3, there() + all);
    };
    over_y(streams, true, rows, [&](Stream& s, const Own& own, const Slab& b, T* from, T* to) {
      const std::int64_t step = numbers(b);
      T *const product = rest_of_products(s, own, b, back(), from), *const changed = to + there() * step,
               *const next_out = changed + all * step;
      StageArrays<T> of{};
      of.u = {factors.last ? changed : from + u * step, step};
      of.sum = {factors.first ? changed : from + sum * step, step};
      of.next = {product, step};
      if (reads_next || writes_next) of.now = {reads_next ? from + next * step : next_out, step};
      of.rhs = {product, step};
      const ModeGrid grid = grid_of(b);
      queue(own, [&] {
        if (grid.round) Terms<T>::turn(s, grid, of.rhs, of.rhs, back(), undo, 1);
        if (!accelerations.empty()) Terms<T>::accelerate(s, grid, of.rhs, accelerations[index(own)]);
        queue_stage<T>(s, grid, of, factors, numbers_of_stage);
        StageArrays<T> of_scalars = of;
        of_scalars.now = {};
        for (int n = 0; n < scalars_of(options_); ++n)
          Terms<T>::stage(s, grid, of_scalars, 3 + n, product + (3 + n) * step, factors, diffusivity(options_, n),
                          numbers_of_stage.time_step);
      });
      if (in_middle) own.work->copied(s, changed, of.sum.at, all * step * size);
      if (reads_next && writes_next) own.work->copied(s, next_out, of.now.at, 3 * step * size);
      leave(s, own, b, factors.last ? of.u : of.next, product + all * step, to, turn);
    });
  }

  std::vector<std::vector<double>> sums(Streams& streams, const HostArrays& modes, std::int64_t of_plane,
                                        const OfModes& queue_sums) override {
    over_y(
        streams, false,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Slab b = slab(own, n);
          batch.in = modes_of(own, modes, b, back(), 0);
          batch.out = doubles_of(own, of_plane * (b.first - own.places.first), of_plane * b.planes);
        },
        [&](Stream& s, const Own& own, const Slab& b, T* from, T* to) {
          queue(own, [&] { queue_sums(s, index(own), grid_of(b), from, numbers(b), reinterpret_cast<double*>(to)); });
        });
    return taken(streams, [&](const Own& own) { return of_plane * own.places.planes; });
  }

  std::vector<std::vector<double>> with_products(Streams& streams, const HostArrays& modes, std::int64_t of_plane,
                                                 const OfProducts& queue_sums) override {
    over_y(
        streams, false,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Slab b = slab(own, n);
          batch.in = lines_of(own, b, 3);
          for (const HostRows& row : modes_of(own, modes, b, 3, 3)) batch.in.push_back(row);
          batch.out = doubles_of(own, of_plane * (b.first - own.places.first), of_plane * b.planes);
        },
        [&](Stream& s, const Own& own, const Slab& b, T* from, T* to) {
          T* const product = rest_of_products(s, own, b, 3, from);
          queue(own, [&] {
            queue_sums(s, grid_of(b), from + 3 * numbers(b), numbers(b), product, reinterpret_cast<double*>(to));
          });
        });
    return taken(streams, [&](const Own& own) { return of_plane * own.places.planes; });
  }

  void change(Streams& streams, const HostArrays& modes, const Change& queue_change) override {
    over_y(
        streams, false,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = batch.out = modes_of(own, modes, slab(own, n), back(), 0);
        },
        [&](Stream& s, const Own& own, const Slab& b, T* from, T* to) {
          queue(own, [&] { queue_change(s, grid_of(b), from, numbers(b)); });
          own.work->copied(s, to, from, back() * numbers(b) * size);
        });
  }

  std::vector<std::vector<double>> velocity(Streams& streams, const HostArrays& modes, const HostArrays& u,
                                            const std::vector<std::int64_t>& apart,
                                            const std::array<double, 3>& scale) override {
    open(streams, modes, {});
    over_z(
        streams, false,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Slab b = planes(own, n);
          const std::size_t d = index(own);
          batch.in = planes_of(own, b, there());
          batch.out = doubles_of(own, s_.ny * b.first, s_.ny * b.planes);
          const std::int64_t plane = s_.nx * s_.ny, cells = plane * b.planes;
          for (int c = 0; c < 3; ++c)
            batch.out.push_back({static_cast<T*>(u[d]) + c * apart[d] + plane * b.first,
                                 {},
                                 {cells * size, 1, 1},
                                 (lines_at(b) + c * even(cells)) * size});
        },
        [&](Stream& s, const Own& own, const PlaneGrid& grid, T* from, T* to) {
          const Slab b{0, grid.planes};
          const std::int64_t cells = even(s_.nx * s_.ny * grid.planes);
          T* const values = to + lines_at(b);
          for (int c = 0; c < 3; ++c) to_cells(s, own, grid, c, from, values + c * cells);
          queue(own, [&] {
            queue_line_speeds<T>(s, {s_.nx, s_.ny, grid.planes}, {values, cells}, scale, reinterpret_cast<double*>(to));
          });
        });
    return taken(streams, [&](const Own& own) { return s_.ny * own.z.planes; });
  }

  std::vector<std::vector<double>> moments(Streams& streams, const HostArrays& modes) override {
    // Where batches move, what lies behind the two fields goes with them, and is not read.
    over_y(
        streams, true,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = modes_of(own, modes, slab(own, n), 3, 0);
          leaves(own, n, 2, batch);
        },
        [&](Stream& s, const Own& own, const Slab& b, T* from, T* to) {
          T* const two = memory_of(own);
          queue(own, [&] { queue_gradient<T>(s, grid_of(b), {from, numbers(b)}, {two, numbers(b)}); });
          back_along_z(s, own, b, 2, two, to);
        });
    over_z(
        streams, false,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Slab b = planes(own, n);
          batch.in = planes_of(own, b, 2);
          batch.out = doubles_of(own, 9 * s_.ny * b.first, 9 * s_.ny * b.planes);
        },
        [&](Stream& s, const Own& own, const PlaneGrid& grid, T* from, T* to) {
          const std::int64_t apart = even(s_.nx * s_.ny * grid.planes);
          T* const cells = memory_of(own);
          for (int c = 0; c < 2; ++c) to_cells(s, own, grid, c, from, cells + c * apart);
          queue(own, [&] {
            queue_line_moments<T>(s, {s_.nx, s_.ny, grid.planes}, {cells, apart}, reinterpret_cast<double*>(to));
          });
        });
    if (!planned_) return {};
    return taken(streams, [&](const Own& own) { return 9 * s_.ny * own.z.planes; });
  }

  void check() override {
    for (auto* moves : {&of_y_, &of_z_})
      if (*moves) (*moves)->check();
  }
  std::int64_t bytes(std::size_t device) const override {
    const Own& own = own_[device];
    std::int64_t bytes = batches_->bytes() + static_cast<std::int64_t>(own.memory.bytes()) + own.work->bytes();
    for (const auto* moves : {&of_y_, &of_z_})
      if (*moves) bytes += (*moves)->bytes_on(own.device);
    return bytes;
  }
  std::int64_t moved() const override { return batches_->moved(); }
  std::string describe() const override {
    return std::to_string(slabs_[0].size()) + " batches of planes y and " +
           std::to_string(parts(Shares::most(shares_.z), deep_)) + " of planes z; " + batches_->describe();
  }

 private:
  static constexpr auto size = static_cast<std::int64_t>(sizeof(T)), value = 2 * size;
  /// A device of this rank. Between sweeps `lines` has what is read by planes y, [field][place][z][x], and
  /// `planes` what is read by planes z, [field][place][own z][x]; on one device both are `lines`.
  struct Own {
    Device device;
    std::size_t number = 0;  ///< of the machine
    Slab y, places, z;
    Buffer<std::byte> lines, planes;
    Buffer<double> doubles;
    Buffer<std::byte> memory;
    std::unique_ptr<BatchWork> work;
  };

  bool alone() const { return shares_.devices() == 1; }
  std::size_t index(const Own& own) const { return static_cast<std::size_t>(&own - own_.data()); }
  /// Fields that planes z read, and that they leave: as many as there are components.
  int there() const { return fields_there(options_); }
  int back() const { return components_of(options_); }
  /// Passes through all work once, which is queued nowhere.
  void plan() {
    Streams streams;
    for (const Own& own : own_) streams.emplace_back(own.device);
    const HostArrays none(own_.size(), nullptr);
    open(streams, none, {});
    products(streams, {});
    stage(streams, {true}, {}, {none, none, {}}, {}, {}, {});
    moments(streams, none);
    with_products(streams, none, 0, {});
    for (const Own& own : own_) own.work->ready();
    planned_ = true;
  }
  T* memory_of(const Own& own) const { return reinterpret_cast<T*>(own.memory.data()); }
  template <class F>
  void queue(const Own& own, const F& f) const {
    if (!own.work->planning()) f();
  }
  std::int64_t numbers(const Slab& b) const { return 2 * b.planes * s_.of_y(); }
  /// Where values behind the doubles of lines begin.
  std::int64_t lines_at(const Slab& b) const {
    return even(s_.ny * b.planes * static_cast<std::int64_t>(sizeof(double) / sizeof(T)));
  }
  /// A batch's planes y by place, and its planes z by the device's own number.
  const Slab& slab(const Own& own, std::int64_t n) const { return slabs_[own.number][static_cast<std::size_t>(n)]; }
  Slab planes(const Own& own, std::int64_t n) const {
    return {n * deep_, std::clamp<std::int64_t>(own.z.planes - n * deep_, 0, deep_)};
  }
  ModeGrid grid_of(const Slab& b) const {
    ModeGrid grid = waves_;
    grid.first[1] = static_cast<int>(s_.index_y(b.first));
    grid.extent[0] = static_cast<int>(s_.nz);
    grid.extent[1] = static_cast<int>(s_.wide);
    grid.extent[2] = static_cast<int>(b.planes);
    return grid;
  }

  /// Components of modes, from field `at` of a buffer on.
  std::vector<HostRows> modes_of(const Own& own, const HostArrays& modes, const Slab& b, int count,
                                 std::int64_t at) const {
    std::vector<HostRows> rows;
    const std::int64_t plane = s_.mx * s_.nz * value;
    auto* const array = static_cast<std::byte*>(modes[index(own)]);
    for (int c = 0; b.planes > 0 && c < count; ++c)
      rows.push_back({array + (c * own.y.planes + s_.index_y(b.first) - own.y.first) * plane,
                      {static_cast<std::size_t>(plane)},
                      {s_.of_y() * value, b.planes, 1},
                      (at + c) * b.planes * s_.of_y() * value});
    return rows;
  }
  /// Between the sweeps, fields of planes y of the device, and of planes z.
  std::vector<HostRows> lines_of(const Own& own, const Slab& b, int count) const {
    std::vector<HostRows> rows;
    const std::int64_t bytes = s_.of_y() * value;
    for (int c = 0; b.planes > 0 && c < count; ++c)
      rows.push_back({own.lines.data() + (c * own.places.planes + b.first - own.places.first) * bytes,
                      {},
                      {b.planes * bytes, 1, 1},
                      c * b.planes * bytes});
    return rows;
  }
  std::vector<HostRows> planes_of(const Own& own, const Slab& b, int count) const {
    std::vector<HostRows> rows;
    const std::int64_t row = s_.wide * value;
    for (int c = 0; c < count; ++c)
      rows.push_back({between(own) + (c * s_.high() * own.z.planes + b.first) * row,
                      {static_cast<std::size_t>(own.z.planes * row)},
                      {b.planes * row, s_.high(), 1},
                      c * s_.high() * b.planes * row});
    return rows;
  }
  std::byte* between(const Own& own) const { return alone() ? own.lines.data() : own.planes.data(); }
  /// Rows that a batch of planes y leaves for planes z.
  void leaves(const Own& own, std::int64_t n, int fields, HostBatch& batch) const {
    if (alone()) {
      batch.out = lines_of(own, slab(own, n), fields);
      return;
    }
    const BatchCut& cut = of_y_->cut();
    const std::int64_t of_plane = own.z.planes * s_.wide * value, all = cut.all_planes(n);
    std::int64_t before = 0;
    for (std::size_t s = 0; s < slabs_.size(); ++s) {
      const Slab& from = slabs_[s][static_cast<std::size_t>(n)];
      for (int c = 0; from.planes > 0 && c < fields; ++c)
        batch.landed.push_back({between(own) + (c * s_.high() + from.first) * of_plane,
                                {},
                                {from.planes * of_plane, 1, 1},
                                (c * all + before) * of_plane});
      before += from.planes;
    }
  }
  /// Rows that a batch of planes z of all devices leaves for planes y of this one.
  std::vector<HostRows> lines_that_land(const Own& own, std::int64_t n) const {
    std::vector<HostRows> rows;
    const BatchCut& cut = of_z_->cut();
    const std::int64_t row = s_.wide * value, all = cut.all_planes(n), high = own.places.planes;
    std::int64_t before = 0;
    for (std::size_t s = 0; s < shares_.z.size(); ++s) {
      const std::int64_t number = cut.planes[static_cast<std::size_t>(n)][s], first = shares_.z[s].first + n * deep_;
      for (int c = 0; number > 0 && c < back(); ++c)
        rows.push_back({own.lines.data() + (c * high * s_.nz + first) * row,
                        {static_cast<std::size_t>(s_.nz * row)},
                        {number * row, high, 1},
                        (c * high * all + before) * row,
                        {static_cast<std::size_t>(all * row), static_cast<std::size_t>(all * row * high)}});
      before += number;
    }
    return rows;
  }
  std::vector<HostRows> doubles_of(const Own& own, std::int64_t first, std::int64_t count, std::int64_t at = 0) const {
    return {{own.doubles.data() + first, {}, {count * static_cast<std::int64_t>(sizeof(double)), 1, 1}, at}};
  }
  template <class Count>
  std::vector<std::vector<double>> taken(Streams& streams, const Count& count) {
    for (Stream& stream : streams) stream.synchronize();
    check();
    std::vector<std::vector<double>> found;
    for (const Own& own : own_) found.emplace_back(own.doubles.data(), own.doubles.data() + count(own));
    return found;
  }

  /// rows(own, batch, rows to fill), work(stream, own, slab, from, to).
  template <class Rows, class Work>
  void over_y(Streams& streams, bool moves, const Rows& rows, const Work& work) {
    run(streams, static_cast<std::int64_t>(slabs_[0].size()), moves && of_y_ ? &*of_y_ : nullptr, rows,
        [&](Stream& s, const Own& own, std::int64_t n, T* from, T* to) {
          if (const Slab& b = slab(own, n); b.planes > 0) work(s, own, b, from, to);
        });
  }
  /// rows(own, batch, rows to fill), work(stream, own, planes, from, to).
  template <class Rows, class Work>
  void over_z(Streams& streams, bool moves, const Rows& rows, const Work& work) {
    run(streams, parts(Shares::most(shares_.z), deep_), moves && of_z_ ? &*of_z_ : nullptr, rows,
        [&](Stream& s, const Own& own, std::int64_t n, T* from, T* to) {
          const PlaneGrid grid{{static_cast<int>(s_.nx), static_cast<int>(s_.ny)},
                               static_cast<int>(s_.wide),
                               static_cast<int>(s_.highest_y),
                               static_cast<int>(planes(own, n).planes),
                               {waves_.wave[0], waves_.wave[1]}};
          if (grid.planes > 0) work(s, own, grid, from, to);
        });
  }
  template <class Rows, class Work>
  void run(Streams& streams, std::int64_t count, BatchMove* move, const Rows& rows, const Work& work) {
    if (planned_)
      return batches_->run(
          streams, count,
          [&](std::size_t d, std::int64_t n) {
            HostBatch batch;
            rows(own_[d], n, batch);
            return batch;
          },
          [&](Stream& s, std::size_t d, std::int64_t n, std::byte* from, std::byte* to) {
            work(s, own_[d], n, reinterpret_cast<T*>(from), reinterpret_cast<T*>(to));
          },
          move);
    for (std::size_t d = 0; d < own_.size(); ++d)  // nothing is queued
      for (std::int64_t n = 0; n < count; ++n) work(streams[d], own_[d], n, memory_of(own_[d]), memory_of(own_[d]) + 1);
  }

  /// Leaves for planes z what they need.
  void leave(Stream& s, const Own& own, const Slab& b, const Three<T>& modes, T* fields, T* to, const Angles& turn) {
    queue(own, [&] {
      const ModeGrid grid = grid_of(b);
      const std::int64_t step = numbers(b);
      const auto turned = [&](int first, int count, T* into) -> Three<T> {
        const Three<T> of{modes.at + first * step, step};
        if (turn == Angles{}) return of;
        Terms<T>::turn(s, grid, of, {into, step}, count, turn, 1);
        return {into, step};
      };
      queue_along_z<T>(s, grid, turned(0, 3, fields), fields);
      for (int n = 0; n < scalars_of(options_); ++n) {
        T* const two = fields + (5 + 2 * n) * step;
        Terms<T>::along_z(s, grid, turned(3 + n, 1, two), 0, two);
      }
    });
    back_along_z(s, own, b, there(), fields, to);
  }
  T* rest_of_products(Stream& s, const Own& own, const Slab& b, int count, T* from) {
    T* const product = memory_of(own);
    own.work->swap_rows(s, {s_.wide, s_.nz, count * b.planes}, from, product);
    own.work->lines(s, Kind::forward, s_.nz, s_.wide, count * b.planes, product, product);
    return product;
  }
  void back_along_z(Stream& s, const Own& own, const Slab& b, int fields, T* values, T* to) {
    own.work->lines(s, Kind::backward, s_.nz, s_.wide, fields * b.planes, values, values);
    own.work->swap_rows(s, {s_.nz, s_.wide, fields * b.planes}, values, to);
  }
  /// Behind six components in cells: columns along y, and rows along x.
  T* columns(const Own& own, const PlaneGrid& grid) const {
    return memory_of(own) + 6 * even(s_.nx * s_.ny * grid.planes);
  }
  T* rows(const Own& own, const PlaneGrid& grid) const {
    return columns(own, grid) + 2 * s_.wide * s_.ny * grid.planes;
  }
  void to_cells(Stream& s, const Own& own, const PlaneGrid& grid, int component, const T* five, T* cells) {
    T *const along_y = columns(own, grid), *const along_x = rows(own, grid);
    queue(own, [&] { queue_columns<T>(s, grid, component, five, along_y); });
    own.work->lines(s, Kind::backward, s_.ny, s_.wide, grid.planes, along_y, along_y);
    queue(own, [&] { queue_rows<T>(s, grid, along_y, along_x); });
    own.work->lines(s, Kind::complex_to_real, s_.nx, s_.ny, grid.planes, along_x, cells);
  }
  void to_modes(Stream& s, const Own& own, const PlaneGrid& grid, const T* cells, T* to) {
    T *const along_y = columns(own, grid), *const along_x = rows(own, grid);
    own.work->lines(s, Kind::real_to_complex, s_.nx, s_.ny, grid.planes, cells, along_x);
    own.work->turn(s, {s_.wide, s_.ny, grid.planes}, along_x, {1, s_.mx, s_.mx * s_.ny}, along_y,
                   {s_.ny, 1, s_.ny * s_.wide});
    own.work->lines(s, Kind::forward, s_.ny, s_.wide, grid.planes, along_y, along_y);
    queue(own, [&] { queue_kept<T>(s, grid, along_y, to); });
  }

  Options options_;
  ModeGrid waves_;
  Sizes s_;
  Shares shares_;
  std::optional<Batches> batches_;
  std::vector<Own> own_;
  std::int64_t deep_ = 1;                 // planes z of a batch
  std::vector<std::vector<Slab>> slabs_;  // planes y by device and batch
  std::optional<BatchMoves> of_y_, of_z_;
  bool planned_ = false;
  std::vector<std::vector<double>> speeds_;
};

}  // namespace

std::int64_t taken_budget(const Machine& machine, const Options& options, std::int64_t budget) {
  const Shares of(machine, options);
  return needed(machine, of, options, buffer_of(machine, of, options, budget));
}

std::int64_t least_budget(const Machine& machine, const Options& options) {
  const Shares of(machine, options);
  return needed(machine, of, options, Planes(of, options).least());
}

std::vector<MessageInfo> messages_of_stage(const Machine& machine, const Options& options, std::int64_t budget) {
  const Shares of(machine, options);
  const Cuts cuts(of, options, buffer_of(machine, of, options, budget));
  std::vector<MessageInfo> all;
  for (const BatchCut* cut : {&cuts.of_y, &cuts.of_z}) {
    const std::vector<MessageInfo> some = BatchMoves::messages(machine, *cut, options.exchange);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::int64_t bytes_between_sweeps(const Machine& machine, const Options& options, int device) {
  const Sizes s(options);
  const Shares of(machine, options);
  const auto d = static_cast<std::size_t>(device);
  const std::int64_t value = 2 * static_cast<std::int64_t>(size_of(options.type));
  const std::int64_t there = fields_there(options), back = components_of(options);
  if (of.devices() == 1) return there * s.between() * s.nz * value;
  return (there * s.between() * of.z[d].planes + back * s.of_y() * of.places[d].planes) * value;
}

std::unique_ptr<OutOfCore> make_out_of_core(const Communicator& comm, const Machine& machine, const Options& options,
                                            std::int64_t budget) {
  if (options.type == DType::f64) return std::make_unique<Flow<double>>(comm, machine, options, budget);
  return std::make_unique<Flow<float>>(comm, machine, options, budget);
}

}  // namespace slipstream::dns
