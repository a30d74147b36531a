#include "solver/dns/out_of_core.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <slipstream/batches.hpp>

#include "fft/batch_moves.hpp"
#include "fft/batch_work.hpp"
#include "machine/agree.hpp"
#include "solver/dns/cuts.hpp"
#include "solver/dns/impl.hpp"
#include "solver/dns/planes.hpp"
#include "solver/dns/terms.hpp"

namespace slipstream::dns {
namespace {

using fft::BatchCut;
using fft::BatchMoves;
using fft::BatchWork;
using fft::Kind;

std::int64_t even(std::int64_t numbers) { return (numbers + 3) / 4 * 4; }

template <class T>
class Flow final : public OutOfCore {
 public:
  Flow(const Communicator& comm, const Machine& machine, const Options& options, std::int64_t budget)
      : options_(options), waves_(wave_numbers(options)), s_(options), shares_(machine, options) {
    on_all_ranks(comm, [&] {
      const std::int64_t buffer = buffer_of(machine, shares_, options, budget);
      cuts_.emplace(shares_, options, buffer);
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
        own.lines = pinned((alone() ? there() : back()) * own.places.number * s_.of_y() * value);
        if (!alone()) own.planes = pinned(there() * s_.between() * own.z.number * value);
        if (cuts_->splits) own.columns = pinned(of_cells() * s_.wide * s_.ny * own.z.number * value);
        own.doubles = Buffer<double>(place,
                                     static_cast<std::size_t>(std::max(line_moments * s_.ny * own.z.number,
                                                                       own.places.number * doubles_of_plane(options))),
                                     Memory::pinned);
        own.memory = Buffer<std::byte>(place, static_cast<std::size_t>(own_buffers * buffer));
        own.work = std::make_unique<BatchWork>(place, sizeof(T) == 8);
      }
      batches_.emplace(places, buffer, BatchOptions{options.host_copies, options.synchronous, options.exchange.trace},
                       !alone());
    });
    if (!alone()) {
      of_y_.emplace(comm, machine, cuts_->of_y, *batches_, options.exchange);
      of_z_.emplace(comm, machine, cuts_->of_z, *batches_, options.exchange);
    }
    on_all_ranks(comm, [&] { plan(); });
  }

  void open(Streams& streams, const HostArrays& modes, const Angles& turn) override {
    over_y(
        streams, true,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = modes_of(own, modes, piece(own, n), back(), 0);
          leaves(own, n, there(), batch);
        },
        [&](Stream& s, const Own& own, const Piece& b, T* from, T* to) {
          leave(s, own, b, {from, numbers(b)}, memory_of(own), to, turn);
        });
  }

  void products(Streams& streams, const std::optional<std::array<double, 3>>& scale) override {
    over_cells(
        streams, {there(), of_cells(), back()},
        [&](const Own& own, const Lines& lines, std::int64_t at, HostBatch& batch) {
          if (scale) batch.out.push_back(doubles_of_lines(own, lines, 1, at));
        },
        [&](Stream& s, const Own& own, const Lines& lines, const Load& load, const Store& store, T* behind) {
          const Extent block = cells_of(lines);
          const std::int64_t apart = even(volume(block));
          const Three<T> u{memory_of(own), apart}, w{memory_of(own) + 3 * apart, apart};
          for (int c = 0; c < 6; ++c) load(c, u.at + c * apart);
          if (scale) queue(own, [&] { queue_line_speeds<T>(s, block, u, *scale, reinterpret_cast<double*>(behind)); });
          queue(own, [&] { queue_cross<T>(s, block, u, w, options_.rotation); });
          for (int c = 0; c < 3; ++c) store(c, w.at + c * apart);
          for (int n = 0; n < scalars_of(options_); ++n) {
            for (int a = 0; a < 3; ++a) load(6 + 3 * n + a, w.at + a * apart);
            queue(own,
                  [&] { Terms<T>::advection(s, block, u, w, options_.scalars[static_cast<std::size_t>(n)].gradient); });
            store(3 + n, w.at);
          }
        });
    if (scale) speeds_ = taken(streams, [&](const Own& own) { return s_.ny * own.z.number; });
  }

  const std::vector<std::vector<double>>& speeds() const override { return speeds_; }

  void stage(Streams& streams, const StageFactors& factors, const StageNumbers& numbers_of_stage,
             const HostModes& arrays, const std::vector<Accelerations>& accelerations, const Angles& undo,
             const Angles& turn) override {
    const bool keeps = !arrays.next.empty(), in_middle = !factors.first && !factors.last;
    const bool reads_next = keeps && !factors.first && factors.pushes, writes_next = keeps && !factors.last;
    // Indices of the first components in a buffer: nonlinear products, modes, Runge-Kutta sum, modes of the next stage.
    const std::int64_t all = back(), u = all, sum = factors.last ? all : 2 * all,
                       next = all * (1 + !factors.last + !factors.first);
    const auto rows = [&](const Own& own, std::int64_t n, HostBatch& batch) {
      const Piece b = piece(own, n);
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
    over_y(streams, true, rows, [&](Stream& s, const Own& own, const Piece& b, T* from, T* to) {
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
          batch.in = modes_of(own, modes, piece(own, n), back(), 0);
          leaves_sums(own, n, of_plane, batch);
        },
        [&](Stream& s, const Own& own, const Piece& b, T* from, T* to) {
          sum(s, own, b, of_plane, to,
              [&](double* sums) { queue_sums(s, index(own), grid_of(b), from, numbers(b), sums); });
        });
    return taken(streams, [&](const Own& own) { return of_plane * own.places.number; });
  }

  std::vector<std::vector<double>> with_products(Streams& streams, const HostArrays& modes, std::int64_t of_plane,
                                                 const OfProducts& queue_sums) override {
    over_y(
        streams, false,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Piece b = piece(own, n);
          batch.in = lines_of(own, b, 3);
          for (const HostRows& row : modes_of(own, modes, b, 3, 3)) batch.in.push_back(row);
          leaves_sums(own, n, of_plane, batch);
        },
        [&](Stream& s, const Own& own, const Piece& b, T* from, T* to) {
          T* const product = rest_of_products(s, own, b, 3, from);
          sum(s, own, b, of_plane, to,
              [&](double* sums) { queue_sums(s, grid_of(b), from + 3 * numbers(b), numbers(b), product, sums); });
        });
    return taken(streams, [&](const Own& own) { return of_plane * own.places.number; });
  }

  void change(Streams& streams, const HostArrays& modes, const Change& queue_change) override {
    over_y(
        streams, false,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = batch.out = modes_of(own, modes, piece(own, n), back(), 0);
        },
        [&](Stream& s, const Own& own, const Piece& b, T* from, T* to) {
          queue(own, [&] { queue_change(s, grid_of(b), from, numbers(b)); });
          own.work->copied(s, to, from, back() * numbers(b) * size);
        });
  }

  std::vector<std::vector<double>> velocity(Streams& streams, const HostArrays& modes, const HostArrays& u,
                                            const std::vector<std::int64_t>& apart,
                                            const std::array<double, 3>& scale) override {
    open(streams, modes, {});
    over_cells(
        streams, {there(), 3, 0},
        [&](const Own& own, const Lines& lines, std::int64_t at, HostBatch& batch) {
          const std::size_t d = index(own);
          batch.out.push_back(doubles_of_lines(own, lines, 1, at));
          const std::int64_t cells = volume(cells_of(lines));
          for (int c = 0; c < 3; ++c)
            batch.out.push_back({static_cast<T*>(u[d]) + c * apart[d] + s_.nx * first_of(lines),
                                 {},
                                 {cells * size, 1, 1},
                                 (behind_doubles(lines) + c * even(cells)) * size});
        },
        [&](Stream& s, const Own& own, const Lines& lines, const Load& load, const Store&, T* to) {
          const Extent block = cells_of(lines);
          const std::int64_t cells = even(volume(block));
          T* const values = to + behind_doubles(lines);
          for (int c = 0; c < 3; ++c) load(c, values + c * cells);
          queue(own, [&] { queue_line_speeds<T>(s, block, {values, cells}, scale, reinterpret_cast<double*>(to)); });
        });
    return taken(streams, [&](const Own& own) { return s_.ny * own.z.number; });
  }

  std::vector<std::vector<double>> moments(Streams& streams, const HostArrays& modes) override {
    // Each batch carries two derivatives of the velocity; if it goes to other devices, also unused memory after them.
    over_y(
        streams, true,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = modes_of(own, modes, piece(own, n), 3, 0);
          leaves(own, n, 2, batch);
        },
        [&](Stream& s, const Own& own, const Piece& b, T* from, T* to) {
          T* const two = memory_of(own);
          queue(own, [&] { queue_gradient<T>(s, grid_of(b), {from, numbers(b)}, {two, numbers(b)}); });
          back_along_z(s, own, b, 2, two, to);
        });
    over_cells(
        streams, {2, 2, 0},
        [&](const Own& own, const Lines& lines, std::int64_t at, HostBatch& batch) {
          batch.out.push_back(doubles_of_lines(own, lines, line_moments, at));
        },
        [&](Stream& s, const Own& own, const Lines& lines, const Load& load, const Store&, T* to) {
          const Extent block = cells_of(lines);
          const std::int64_t apart = even(volume(block));
          T* const cells = memory_of(own);
          for (int c = 0; c < 2; ++c) load(c, cells + c * apart);
          queue(own, [&] { queue_line_moments<T>(s, block, {cells, apart}, reinterpret_cast<double*>(to)); });
        });
    if (!planned_) return {};
    return taken(streams, [&](const Own& own) { return line_moments * s_.ny * own.z.number; });
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
    return std::to_string(cuts_->count_y) + " batches of planes y and " + std::to_string(cuts_->count_z) +
           " of planes z" + (cuts_->splits ? ", in three sweeps; " : "; ") + batches_->describe();
  }

 private:
  static constexpr auto size = static_cast<std::int64_t>(sizeof(T)), value = 2 * size;
  /// Arrays in host memory for a device of this rank. `lines`: fields that planes of constant y read, [field][range of
  /// k_x][k_y][z][k_x]. `planes`: fields that planes of constant z read; on one device both are in `lines`. `columns`:
  /// used if planes z take three passes through the device, [z of the device][field][k_x][y].
  struct Own {
    Device device;
    std::size_t number = 0;  ///< index of the device in the machine
    Range y, places, z;
    Buffer<std::byte> lines, planes, columns;
    Buffer<double> doubles;
    Buffer<std::byte> memory;
    std::unique_ptr<BatchWork> work;
  };
  /// The modes of a batch in a sweep over planes y: ranges of k_x and of planes y, with all modes along z.
  struct Piece {
    Range x, y;
  };
  /// The cells of a batch in a sweep over planes z: lines along x, given by ranges of y and of the device's planes z.
  struct Lines {
    Range y, z;
  };
  /// How many fields an out-of-core pass over planes of constant z handles. It reads `read` fields of Fourier modes,
  /// computes `cells` fields in physical space, and writes `left` fields of Fourier modes.
  struct Fields {
    int read, cells, left;
  };
  /// load(component, cells) queues the transform of a component from modes to cells; store(field, cells) the inverse.
  using Load = std::function<void(int, T*)>;
  using Store = std::function<void(int, const T*)>;

  bool alone() const { return shares_.devices() == 1; }
  std::size_t index(const Own& own) const { return static_cast<std::size_t>(&own - own_.data()); }
  /// How many fields a pass over planes of constant z reads as Fourier modes, writes as modes, and holds in grid cells.
  int there() const { return fields_there(options_); }
  int back() const { return components_of(options_); }
  int of_cells() const { return fields_of_cells(options_); }
  /// Makes all passes of an out-of-core step once without queueing work. This creates FFT plans and sizes workspaces.
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
  std::int64_t numbers(const Piece& b) const { return 2 * b.y.number * b.x.number * s_.nz; }
  Extent cells_of(const Lines& lines) const { return {s_.nx, lines.y.number, lines.z.number}; }
  /// Index of the first line of a batch among all lines of cells of the device.
  std::int64_t first_of(const Lines& lines) const { return lines.z.first * s_.ny + lines.y.first; }
  /// A batch begins with one double for each line of cells along x, its largest speed. Returns the offset behind them.
  std::int64_t behind_doubles(const Lines& lines) const {
    return even(lines.y.number * lines.z.number * static_cast<std::int64_t>(sizeof(double) / sizeof(T)));
  }

  std::int64_t pieces() const { return parts(s_.wide, cuts_->wide); }
  Range piece_of_x(std::int64_t n) const {
    const std::int64_t first = n % pieces() * cuts_->wide;
    return {first, std::min(cuts_->wide, s_.wide - first)};
  }
  Piece piece(const Own& own, std::int64_t n) const {
    return {piece_of_x(n), cuts_->slabs[own.number][static_cast<std::size_t>(n / pieces())]};
  }
  bool is_last_piece(std::int64_t n) const { return n % pieces() + 1 == pieces(); }
  /// Batch n of an out-of-core pass over planes of constant z: its range of k_x, and its first plane on the device.
  Range x_of_z(std::int64_t n) const { return cuts_->splits ? piece_of_x(n) : Range{0, s_.wide}; }
  std::int64_t first_z(std::int64_t n) const { return (cuts_->splits ? n / pieces() : n) * cuts_->deep; }
  Range own_z(const Own& own, std::int64_t first) const {
    return {first, std::clamp<std::int64_t>(own.z.number - first, 0, cuts_->deep)};
  }
  ModeGrid grid_of(const Piece& b) const {
    ModeGrid grid = waves_;
    grid.first[0] = static_cast<int>(b.x.first);
    grid.first[1] = static_cast<int>(s_.index_y(b.y.first));
    grid.extent[0] = static_cast<int>(s_.nz);
    grid.extent[1] = static_cast<int>(b.x.number);
    grid.extent[2] = static_cast<int>(b.y.number);
    grid.before = static_cast<int>(b.x.first);
    grid.of_all = static_cast<int>(s_.wide);
    return grid;
  }
  PlaneGrid plane_grid(const Range& x, const Range& z) const {
    return {{static_cast<int>(s_.nx), static_cast<int>(s_.ny)},
            static_cast<int>(x.first),
            static_cast<int>(x.number),
            static_cast<int>(s_.highest_y),
            static_cast<int>(z.number),
            {waves_.wave[0], waves_.wave[1]}};
  }

  /// Rows of host memory with `count` components of a batch's Fourier modes, and their places in a device buffer.
  std::vector<HostRows> modes_of(const Own& own, const HostArrays& modes, const Piece& b, int count,
                                 std::int64_t at) const {
    std::vector<HostRows> rows;
    const std::int64_t line = s_.nz * value, plane = s_.mx * line, of_piece = b.x.number * line;
    auto* const array = static_cast<std::byte*>(modes[index(own)]);
    for (int c = 0; b.y.number > 0 && c < count; ++c)
      rows.push_back({array + (c * own.y.number + s_.index_y(b.y.first) - own.y.first) * plane + b.x.first * line,
                      {static_cast<std::size_t>(plane)},
                      {of_piece, b.y.number, 1},
                      (at + c) * b.y.number * of_piece});
    return rows;
  }
  /// Array in host memory for a flow's fields between the passes over planes y and z: kept wave numbers k_y (`places`)
  /// by planes z (`planes`). A device buffer holds [field][k_y][z][k_x]; a copy starts at value `at` of each field.
  struct Array {
    std::byte* at;
    std::int64_t places, planes;
  };
  struct InBuffer {
    std::int64_t at, places, planes;
  };
  void add_between(std::vector<HostRows>& rows, const Array& array, int count, const Range& x, const Range& y,
                   const Range& z, const InBuffer& buffer) const {
    const auto bytes = [](std::int64_t values) { return static_cast<std::size_t>(values * value); };
    const std::int64_t field = array.places * array.planes;
    if (y.number * z.number == 0) return;
    for (int c = 0; c < count; ++c)
      for (std::int64_t first = x.first; first < x.first + x.number; first += cuts_->wide) {
        const std::int64_t wide = std::min(cuts_->wide, s_.wide - first);
        rows.push_back({array.at + (field * (c * s_.wide + first) + (y.first * array.planes + z.first) * wide) * value,
                        {bytes(wide), bytes(array.planes * wide)},
                        {wide * value, z.number, y.number},
                        ((c * buffer.places * buffer.planes + buffer.at) * x.number + first - x.first) * value,
                        {bytes(x.number), bytes(buffer.planes * x.number)}});
      }
  }
  Array of_lines(const Own& own) const { return {own.lines.data(), own.places.number, s_.nz}; }
  Array of_planes(const Own& own) const {
    return {alone() ? own.lines.data() : own.planes.data(), s_.high(), own.z.number};
  }
  std::vector<HostRows> lines_of(const Own& own, const Piece& b, int count) const {
    std::vector<HostRows> rows;
    add_between(rows, of_lines(own), count, b.x, {b.y.first - own.places.first, b.y.number}, {0, s_.nz},
                {0, b.y.number, s_.nz});
    return rows;
  }
  std::vector<HostRows> planes_of(const Own& own, const Range& x, const Range& z, int count) const {
    std::vector<HostRows> rows;
    add_between(rows, of_planes(own), count, x, {0, s_.high()}, z, {0, s_.high(), z.number});
    return rows;
  }
  /// Adds to `batch` the memory ranges for results of planes of constant y, which the planes of constant z read later.
  void leaves(const Own& own, std::int64_t n, int fields, HostBatch& batch) const {
    if (alone()) {
      batch.out = lines_of(own, piece(own, n), fields);
      return;
    }
    const std::int64_t all = of_y_->cut().all_planes(n), planes = own.z.number;
    std::int64_t before = 0;
    for (const std::vector<Range>& slabs : cuts_->slabs) {
      const Range& from = slabs[static_cast<std::size_t>(n / pieces())];
      add_between(batch.received, of_planes(own), fields, piece_of_x(n), from, {0, planes},
                  {before * planes, all, planes});
      before += from.number;
    }
  }
  /// Lists rows of host memory, at y planes of this device, that a transposed batch of z planes of all devices fills.
  void leaves_lines(const Own& own, std::int64_t n, HostBatch& batch) const {
    if (alone()) {
      batch.out = planes_of(own, x_of_z(n), own_z(own, first_z(n)), back());
      return;
    }
    const BatchCut& cut = of_z_->cut();
    const std::int64_t all = cut.all_planes(n), places = own.places.number;
    std::int64_t before = 0;
    for (std::size_t s = 0; s < shares_.z.size(); ++s) {
      const std::int64_t number = cut.planes_of(n)[s];
      add_between(batch.received, of_lines(own), back(), x_of_z(n), {0, places},
                  {shares_.z[s].first + first_z(n), number}, {before, places, all});
      before += number;
    }
  }
  /// Host memory of a plane z in the array `columns`, [z][field][x][y]: some modes k_x, with all y.
  HostRows columns_of(const Own& own, const Range& x, std::int64_t z, int count) const {
    const std::int64_t column = s_.ny * value, field = s_.wide * column;
    return {own.columns.data() + z * of_cells() * field + x.first * column,
            {static_cast<std::size_t>(field)},
            {x.number * column, count, 1}};
  }
  /// Rows of planes of constant z in the host array `columns` ([z][field][x][y]): some y, with all modes along x.
  HostRows rows_of(const Own& own, const Lines& lines, int count) const {
    const std::int64_t column = s_.ny * value, field = s_.wide * column;
    return {own.columns.data() + lines.z.first * of_cells() * field + lines.y.first * value,
            {static_cast<std::size_t>(column)},
            {lines.y.number * value, s_.wide * count, 1}};
  }
  HostRows doubles_of_lines(const Own& own, const Lines& lines, std::int64_t of_line, std::int64_t at) const {
    return {own.doubles.data() + of_line * first_of(lines),
            {},
            {of_line * lines.y.number * lines.z.number * static_cast<std::int64_t>(sizeof(double)), 1, 1},
            at};
  }
  /// Lists host memory for sums over planes of constant y. If planes are cut along x, only their last cut writes sums.
  void leaves_sums(const Own& own, std::int64_t n, std::int64_t of_plane, HostBatch& batch) const {
    const Range y = piece(own, n).y;
    if (is_last_piece(n) && y.number > 0)
      batch.out = {{own.doubles.data() + of_plane * (y.first - own.places.first),
                    {},
                    {of_plane * y.number * static_cast<std::int64_t>(sizeof(double)), 1, 1}}};
  }
  template <class Queue>
  void sum(Stream& s, const Own& own, const Piece& b, std::int64_t of_plane, T* to, const Queue& queue_sums) {
    auto* const sums = reinterpret_cast<double*>(own.memory.data() + batches_->bytes_of_buffer());
    queue(own, [&] { queue_sums(sums); });
    if (b.x.first + b.x.number == s_.wide)
      own.work->copied(s, to, sums, of_plane * b.y.number * static_cast<std::int64_t>(sizeof(double)));
  }
  template <class Count>
  std::vector<std::vector<double>> taken(Streams& streams, const Count& count) {
    for (Stream& stream : streams) stream.synchronize();
    check();
    std::vector<std::vector<double>> found;
    for (const Own& own : own_) found.emplace_back(own.doubles.data(), own.doubles.data() + count(own));
    return found;
  }

  /// Processes all modes in batches of planes of constant y, which pass through device buffers. `rows` lists the host
  /// memory to copy to and from the device. `work` queues the kernels that read buffer `from` and write buffer `to`.
  template <class Rows, class Work>
  void over_y(Streams& streams, bool moves, const Rows& rows, const Work& work) {
    run(streams, cuts_->count_y, moves && of_y_ ? &*of_y_ : nullptr, rows,
        [&](Stream& s, const Own& own, std::int64_t n, T* from, T* to) {
          if (const Piece b = piece(own, n); b.y.number > 0) work(s, own, b, from, to);
        });
  }
  /// Processes planes of constant z in batches that fit in device memory. `rows` lists host memory that a batch copies
  /// to and from the device. `work` queues kernels that read device buffer `from` and write device buffer `to`.
  template <class Rows, class Work>
  void over_z(Streams& streams, BatchMove* move, const Rows& rows, const Work& work) {
    run(streams, cuts_->count_z, move, rows, [&](Stream& s, const Own& own, std::int64_t n, T* from, T* to) {
      const PlaneGrid grid = plane_grid(x_of_z(n), own_z(own, first_z(n)));
      if (grid.planes > 0) work(s, own, grid, from, to);
    });
  }
  /// Transforms fields from modes to cells in one pass over host memory, or three, and calls `work` on the cells.
  /// `rows` lists further memory to copy. Its place in the device buffer is behind the fields that the pass writes.
  template <class Rows, class Work>
  void over_cells(Streams& streams, const Fields& fields, const Rows& rows, const Work& work) {
    BatchMove* const move = fields.left > 0 && of_z_ ? &*of_z_ : nullptr;
    if (cuts_->splits) return over_cut_planes(streams, fields, move, rows, work);
    const auto lines_of_planes = [&](const Range& z) { return Lines{{0, s_.ny}, z}; };
    const auto left = [&](std::int64_t planes) { return 2 * fields.left * planes * s_.between(); };
    over_z(
        streams, move,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Range z = own_z(own, first_z(n));
          batch.in = planes_of(own, x_of_z(n), z, fields.read);
          if (fields.left > 0) leaves_lines(own, n, batch);
          if (z.number > 0) rows(own, lines_of_planes(z), left(z.number) * size, batch);
        },
        [&](Stream& s, const Own& own, const PlaneGrid& grid, T* from, T* to) {
          const Lines lines = lines_of_planes({0, grid.planes});
          T* const columns = behind_cells(own, lines);
          T* const along_x = columns + 2 * s_.wide * s_.ny * grid.planes;
          work(
              s, own, lines,
              [&](int component, T* cells) {
                to_columns(s, own, grid, component, from, columns);
                rows_to_cells(s, own, lines, columns, along_x, cells);
              },
              [&](int field, const T* cells) {
                cells_to_rows(s, own, lines, cells, along_x, columns);
                from_columns(s, own, grid, columns, to + field * 2 * grid.volume());
              },
              to + left(grid.planes));
        });
  }
  template <class Rows, class Work>
  void over_cut_planes(Streams& streams, const Fields& fields, BatchMove* move, const Rows& rows, const Work& work) {
    const auto columns = [&](const Own& own, std::int64_t n, int count) {
      std::vector<HostRows> found;
      if (first_z(n) < own.z.number) found.push_back(columns_of(own, x_of_z(n), first_z(n), count));
      return found;
    };
    over_z(
        streams, nullptr,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = planes_of(own, x_of_z(n), own_z(own, first_z(n)), fields.read);
          batch.out = columns(own, n, fields.cells);
        },
        [&](Stream& s, const Own& own, const PlaneGrid& grid, T* from, T* to) {
          for (int c = 0; c < fields.cells; ++c) to_columns(s, own, grid, c, from, to + c * 2 * grid.wide * s_.ny);
        });
    const std::int64_t in_plane = parts(s_.ny, cuts_->rows);
    const auto lines_of_batch = [&](const Own& own, std::int64_t n) {
      const std::int64_t y = n % in_plane * cuts_->rows;
      return Lines{{y, std::min(cuts_->rows, s_.ny - y)}, own_z(own, n / in_plane)};
    };
    const auto left = [&](const Lines& lines) { return 2 * fields.left * s_.wide * lines.y.number; };
    run(
        streams, in_plane * shares_.most_z, nullptr,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          const Lines lines = lines_of_batch(own, n);
          if (lines.z.number == 0) return;
          batch.in = {rows_of(own, lines, fields.cells)};
          if (fields.left > 0) batch.out = {rows_of(own, lines, fields.left)};
          rows(own, lines, left(lines) * size, batch);
        },
        [&](Stream& s, const Own& own, std::int64_t n, T* from, T* to) {
          const Lines lines = lines_of_batch(own, n);
          if (lines.z.number == 0) return;
          T* const along_x = behind_cells(own, lines);
          const std::int64_t field = 2 * s_.wide * lines.y.number;
          work(
              s, own, lines,
              [&](int component, T* cells) { rows_to_cells(s, own, lines, from + component * field, along_x, cells); },
              [&](int n_of_field, const T* cells) {
                cells_to_rows(s, own, lines, cells, along_x, to + n_of_field * field);
              },
              to + left(lines));
        });
    if (fields.left == 0) return;
    over_z(
        streams, move,
        [&](const Own& own, std::int64_t n, HostBatch& batch) {
          batch.in = columns(own, n, fields.left);
          leaves_lines(own, n, batch);
        },
        [&](Stream& s, const Own& own, const PlaneGrid& grid, T* from, T* to) {
          for (int c = 0; c < fields.left; ++c)
            from_columns(s, own, grid, from + c * 2 * grid.wide * s_.ny, to + c * 2 * grid.volume());
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
    for (std::size_t d = 0; d < own_.size(); ++d)  // this only creates FFT plans; no work is queued
      for (std::int64_t n = 0; n < count; ++n) work(streams[d], own_[d], n, memory_of(own_[d]), memory_of(own_[d]) + 1);
  }

  /// Computes the fields that the sweep over planes z needs from modes of planes y, and stores them.
  void leave(Stream& s, const Own& own, const Piece& b, const Three<T>& modes, T* fields, T* to, const Angles& turn) {
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
  T* rest_of_products(Stream& s, const Own& own, const Piece& b, int count, T* from) {
    T* const product = memory_of(own);
    own.work->swap_rows(s, {b.x.number, s_.nz, count * b.y.number}, from, product);
    own.work->lines(s, Kind::forward, s_.nz, b.x.number, count * b.y.number, product, product);
    return product;
  }
  void back_along_z(Stream& s, const Own& own, const Piece& b, int fields, T* values, T* to) {
    own.work->lines(s, Kind::backward, s_.nz, b.x.number, fields * b.y.number, values, values);
    own.work->swap_rows(s, {s_.nz, b.x.number, fields * b.y.number}, values, to);
  }
  /// Address of work memory on the device behind the components of velocity and vorticity in physical space.
  T* behind_cells(const Own& own, const Lines& lines) const {
    return memory_of(own) + 6 * even(volume(cells_of(lines)));
  }
  void to_columns(Stream& s, const Own& own, const PlaneGrid& grid, int component, const T* fields, T* columns) {
    queue(own, [&] { queue_columns<T>(s, grid, component, fields, columns); });
    own.work->lines(s, Kind::backward, s_.ny, grid.wide, grid.planes, columns, columns);
  }
  void rows_to_cells(Stream& s, const Own& own, const Lines& lines, const T* columns, T* along_x, T* cells) {
    queue(own, [&] { queue_rows<T>(s, cells_of(lines), static_cast<int>(s_.wide), columns, along_x); });
    own.work->lines(s, Kind::complex_to_real, s_.nx, lines.y.number, lines.z.number, along_x, cells);
  }
  void cells_to_rows(Stream& s, const Own& own, const Lines& lines, const T* cells, T* along_x, T* columns) {
    const std::int64_t high = lines.y.number;
    own.work->lines(s, Kind::real_to_complex, s_.nx, high, lines.z.number, cells, along_x);
    own.work->turn(s, {s_.wide, high, lines.z.number}, along_x, {1, s_.mx, s_.mx * high}, columns,
                   {high, 1, high * s_.wide});
  }
  void from_columns(Stream& s, const Own& own, const PlaneGrid& grid, T* columns, T* to) {
    own.work->lines(s, Kind::forward, s_.ny, grid.wide, grid.planes, columns, columns);
    queue(own, [&] { queue_kept<T>(s, grid, columns, to); });
  }

  Options options_;
  ModeGrid waves_;
  Sizes s_;
  Shares shares_;
  std::optional<Batches> batches_;
  std::vector<Own> own_;
  std::optional<FlowCuts> cuts_;
  std::optional<BatchMoves> of_y_, of_z_;
  bool planned_ = false;
  std::vector<std::vector<double>> speeds_;
};

}  // namespace

std::unique_ptr<OutOfCore> make_out_of_core(const Communicator& comm, const Machine& machine, const Options& options,
                                            std::int64_t budget) {
  if (options.type == DType::f64) return std::make_unique<Flow<double>>(comm, machine, options, budget);
  return std::make_unique<Flow<float>>(comm, machine, options, budget);
}

}  // namespace slipstream::dns
