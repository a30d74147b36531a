#include "solver/dns/out_of_core.hpp"

#include <algorithm>
#include <array>

#include <slipstream/batches.hpp>

#include "fft/batch_work.hpp"
#include "solver/dns/planes.hpp"
#include "solver/dns/terms.hpp"

namespace slipstream::dns {
namespace {

using fft::BatchWork;
using fft::Kind;

/// A budget is shared by the buffers of batches, the work's own arrays and the library's workspace: so many buffers.
constexpr int own_buffers = 4, shares = Batches::buffers + own_buffers + 1;
/// A sweep has so many batches, where memory allows: nothing travels beside the first and the last.
constexpr std::int64_t batches_of_sweep = 32, least_batch = 8 << 20;
/// A batch of planes y brings the product's three fields, u, the sum and, for forced rk4, what was next. It leaves five
/// fields between the sweeps and what a stage computes.
int scalars_of(const Options& o) { return static_cast<int>(o.scalars.size()); }
int fields_of_stage(const Options& o) {
  return o.scheme == Scheme::rk2 ? 8 + 3 * scalars_of(o) : 12 + 4 * scalars_of(o);
}
/// Fields that go from planes y to planes z.
int fields_between(const Options& o) { return 5 + 2 * scalars_of(o); }

std::int64_t even(std::int64_t numbers) { return (numbers + 3) / 4 * 4; }

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
};

std::int64_t parts(std::int64_t all, std::int64_t each) { return (all + each - 1) / each; }
std::int64_t whole_lines(std::int64_t bytes) { return parts(bytes, 256) * 256; }

/// Bytes of a buffer that a plane of each sweep takes: its fields, or its share of the work's own arrays. These hold
/// eight fields of a plane y. They hold six components in cells of a plane z, and what becomes of one.
struct Planes {
  explicit Planes(const Options& o) {
    const Sizes s(o);
    const auto value = 2 * static_cast<std::int64_t>(size_of(o.type));
    y = value * fields_of_stage(o) * s.of_y();
    z = value *
        std::max({fields_between(o) * s.between(), 3 * s.of_z() + 9 * s.ny, parts(5 * s.of_z() + 16, own_buffers)});
    most_y = planes(s.high(), y);
    most_z = planes(s.nz, z);
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

template <class T>
class Flow final : public OutOfCore {
 public:
  Flow(Device device, const Options& options, std::int64_t buffer)
      : options_(options),
        waves_(wave_numbers(options)),
        s_(options),
        between_(device, static_cast<std::size_t>(bytes_between_sweeps(options)), Memory::pinned),
        doubles_(device,
                 static_cast<std::size_t>(std::max(9 * s_.ny * std::max(s_.nz, s_.mx), s_.high() * most_shells())),
                 Memory::pinned),
        batches_(device, buffer, {options.host_copies, options.synchronous}),
        own_(device, static_cast<std::size_t>(own_buffers * buffer)),
        work_(device, sizeof(T) == 8) {
    const Planes of(options);
    deep_ = std::min(of.most_z, buffer / of.z);
    const std::int64_t thick = std::min(of.most_y, buffer / of.y);
    // Those of negative k_y begin a batch of their own.
    for (std::int64_t first = 0; first < s_.high();) {
      const std::int64_t behind = first <= s_.highest_y ? s_.highest_y + 1 : s_.high();
      slabs_.push_back({first, std::min(thick, behind - first)});
      first += slabs_.back().planes;
    }
    Stream stream(device);
    open(stream, nullptr, {});
    products(stream, {});
    stage(stream, {true}, {}, {}, {}, {});
    moments(stream, nullptr);
    work_.ready();
  }

  void open(Stream& stream, void* modes, const Angles& turn) override {
    over_y(
        stream,
        [&](const Slab& b) {
          return HostBatch{modes_of(modes, b, components(), 0), between_of(b, left())};
        },
        [&](Stream& s, const Slab& b, T* from, T* to) {
          leave(s, b, {from, numbers(b)}, own(), to, turn);
        });
  }

  void products(Stream& stream, const std::optional<std::array<double, 3>>& scale) override {
    const auto bytes_of = [&](std::int64_t planes) { return components() * planes * s_.between() * value; };
    over_z(
        stream,
        [&](const Slab& b) {
          HostBatch batch{planes_of(b, left()), planes_of(b, components())};
          if (scale) batch.out.push_back(doubles_of(s_.ny * b.first, s_.ny * b.planes, bytes_of(b.planes))[0]);
          return batch;
        },
        [&](Stream& s, const PlaneGrid& grid, T* from, T* to) {
          const Extent block{s_.nx, s_.ny, grid.planes};
          const std::int64_t apart = even(volume(block));
          const Three<T> u{own(), apart}, w{own() + 3 * apart, apart};
          for (int c = 0; c < 6; ++c) to_cells(s, grid, c, from, u.at + c * apart);
          if (scale)
            queue([&] {
              queue_line_speeds<T>(s, block, u, *scale, reinterpret_cast<double*>(to + bytes_of(grid.planes) / size));
            });
          queue([&] { queue_cross<T>(s, block, u, w, options_.rotation); });
          for (int c = 0; c < 3; ++c) to_modes(s, grid, w.at + c * apart, to + c * 2 * grid.volume());
          for (int n = 0; n < scalars_of(options_); ++n) {
            for (int a = 0; a < 3; ++a) to_cells(s, grid, 6 + 3 * n + a, from, w.at + a * apart);
            queue([&] { Terms<T>::advection(s, block, u, w, options_.scalars[static_cast<std::size_t>(n)].gradient); });
            to_modes(s, grid, w.at, to + (3 + n) * 2 * grid.volume());
          }
        });
    if (scale) speeds_ = taken(stream, s_.ny * s_.nz);
  }

  const std::vector<double>& speeds() const override { return speeds_; }

  void stage(Stream& stream, const StageFactors& factors, const StageNumbers& numbers_of_stage, const HostModes& arrays,
             const Angles& back, const Angles& turn) override {
    const bool keeps = arrays.next != nullptr, in_middle = !factors.first && !factors.last;
    const bool reads_next = keeps && !factors.first && factors.pushes, writes_next = keeps && !factors.last;
    // The places of fields.
    const std::int64_t all = components(), u = all, sum = factors.last ? all : 2 * all,
                       next = all * (1 + !factors.last + !factors.first);
    const auto rows = [&](const Slab& b) {
      HostBatch batch{between_of(b, all), between_of(b, left())};
      const auto add = [&](std::vector<HostRows>& to, void* array, std::int64_t count, std::int64_t at) {
        for (const HostRows& row : modes_of(array, b, count, at)) to.push_back(row);
      };
      if (!factors.last) add(batch.in, arrays.modes, all, u);
      if (!factors.first) add(batch.in, arrays.sum, all, sum);
      if (reads_next) add(batch.in, arrays.next, 3, next);
      add(batch.out, factors.last ? arrays.modes : arrays.sum, all, left());
      if (writes_next) add(batch.out, arrays.next, 3, left() + all);
      return batch;
    };
    over_y(stream, rows, [&](Stream& s, const Slab& b, T* from, T* to) {
      const std::int64_t step = numbers(b);
      T *const product = rest_of_products(s, b, all, from), *const changed = to + left() * step,
               *const next_out = changed + all * step;
      StageArrays<T> of{};
      of.u = {factors.last ? changed : from + u * step, step};
      of.sum = {factors.first ? changed : from + sum * step, step};
      of.next = {product, step};
      if (reads_next || writes_next) of.now = {reads_next ? from + next * step : next_out, step};
      of.rhs = {product, step};
      const ModeGrid grid = grid_of(b);
      queue([&] {
        if (grid.round) Terms<T>::turn(s, grid, of.rhs, of.rhs, components(), back, 1);
        if (numbers_of_stage.accelerations.count > 0)
          Terms<T>::accelerate(s, grid, of.rhs, numbers_of_stage.accelerations);
        queue_stage<T>(s, grid, of, factors, numbers_of_stage);
        StageArrays<T> of_scalars = of;
        of_scalars.now = {};
        for (int n = 0; n < scalars_of(options_); ++n)
          Terms<T>::stage(s, grid, of_scalars, 3 + n, product + (3 + n) * step, factors,
                          options_.viscosity / options_.scalars[static_cast<std::size_t>(n)].schmidt,
                          numbers_of_stage.time_step);
      });
      if (in_middle) work_.copied(s, changed, of.sum.at, all * step * size);
      if (reads_next && writes_next) work_.copied(s, next_out, of.now.at, 3 * step * size);
      leave(s, b, factors.last ? of.u : of.next, product + all * step, to, turn);
    });
  }

  std::vector<double> sums(Stream& stream, void* modes, std::int64_t of_plane, const OfModes& queue_sums) override {
    over_y(
        stream,
        [&](const Slab& b) {
          return HostBatch{modes_of(modes, b, components(), 0), doubles_of(of_plane * b.first, of_plane * b.planes)};
        },
        [&](Stream& s, const Slab& b, T* from, T* to) {
          queue([&] { queue_sums(s, grid_of(b), from, numbers(b), reinterpret_cast<double*>(to)); });
        });
    return taken(stream, of_plane * s_.high());
  }

  std::vector<double> with_products(Stream& stream, void* modes, std::int64_t of_plane,
                                    const OfProducts& queue_sums) override {
    over_y(
        stream,
        [&](const Slab& b) {
          HostBatch batch{between_of(b, components()), doubles_of(of_plane * b.first, of_plane * b.planes)};
          for (const HostRows& row : modes_of(modes, b, 3, components())) batch.in.push_back(row);
          return batch;
        },
        [&](Stream& s, const Slab& b, T* from, T* to) {
          // Lines as a stage has them, of which those of scalars are not read.
          T* const product = rest_of_products(s, b, components(), from);
          queue([&] {
            queue_sums(s, grid_of(b), from + components() * numbers(b), numbers(b), product,
                       reinterpret_cast<double*>(to));
          });
        });
    return taken(stream, of_plane * s_.high());
  }

  void change(Stream& stream, void* modes, const Change& queue_change) override {
    over_y(
        stream,
        [&](const Slab& b) {
          return HostBatch{modes_of(modes, b, components(), 0), modes_of(modes, b, components(), 0)};
        },
        [&](Stream& s, const Slab& b, T* from, T* to) {
          queue([&] { queue_change(s, grid_of(b), from, numbers(b)); });
          work_.copied(s, to, from, components() * numbers(b) * size);
        });
  }

  std::vector<double> velocity(Stream& stream, void* modes, void* u, std::int64_t apart,
                               const std::array<double, 3>& scale) override {
    open(stream, modes, {});
    over_z(
        stream,
        [&](const Slab& b) {
          HostBatch batch{planes_of(b, left()), doubles_of(s_.ny * b.first, s_.ny * b.planes)};
          const std::int64_t plane = s_.nx * s_.ny, cells = plane * b.planes;
          for (int c = 0; c < 3; ++c)
            batch.out.push_back({static_cast<T*>(u) + c * apart + plane * b.first,
                                 {},
                                 {cells * size, 1, 1},
                                 (lines_at(b) + c * even(cells)) * size});
          return batch;
        },
        [&](Stream& s, const PlaneGrid& grid, T* from, T* to) {
          const Slab b{0, grid.planes};
          const std::int64_t cells = even(s_.nx * s_.ny * grid.planes);
          T* const values = to + lines_at(b);
          for (int c = 0; c < 3; ++c) to_cells(s, grid, c, from, values + c * cells);
          queue([&] {
            queue_line_speeds<T>(s, {s_.nx, s_.ny, grid.planes}, {values, cells}, scale, reinterpret_cast<double*>(to));
          });
        });
    return taken(stream, s_.ny * s_.nz);
  }

  std::vector<double> moments(Stream& stream, void* modes) override {
    over_y(
        stream,
        [&](const Slab& b) {
          return HostBatch{modes_of(modes, b, 3, 0), between_of(b, 2)};
        },
        [&](Stream& s, const Slab& b, T* from, T* to) {
          T* const two = own();
          queue([&] { queue_gradient<T>(s, grid_of(b), {from, numbers(b)}, {two, numbers(b)}); });
          back_along_z(s, b, 2, two, to);
        });
    over_z(
        stream,
        [&](const Slab& b) {
          return HostBatch{planes_of(b, 2), doubles_of(9 * s_.ny * b.first, 9 * s_.ny * b.planes)};
        },
        [&](Stream& s, const PlaneGrid& grid, T* from, T* to) {
          const std::int64_t apart = even(s_.nx * s_.ny * grid.planes);
          for (int c = 0; c < 2; ++c) to_cells(s, grid, c, from, own() + c * apart);
          queue([&] {
            queue_line_moments<T>(s, {s_.nx, s_.ny, grid.planes}, {own(), apart}, reinterpret_cast<double*>(to));
          });
        });
    return work_.planning() ? std::vector<double>() : taken(stream, 9 * s_.ny * s_.nz);
  }

  std::int64_t bytes() const override {
    return batches_.bytes() + static_cast<std::int64_t>(own_.bytes()) + work_.bytes();
  }
  std::int64_t moved() const override { return batches_.moved(); }
  std::string describe() const override {
    return std::to_string(slabs_.size()) + " batches of planes y and " + std::to_string((s_.nz + deep_ - 1) / deep_) +
           " of planes z; " + batches_.describe();
  }

 private:
  static constexpr auto size = static_cast<std::int64_t>(sizeof(T)), value = 2 * size;
  /// Planes y by their places among the kept ones, or planes z.
  struct Slab {
    std::int64_t first, planes;
  };

  T* own() const { return reinterpret_cast<T*>(own_.data()); }
  template <class F>
  void queue(const F& f) const {
    if (!work_.planning()) f();
  }
  std::int64_t most_shells() const {
    double most = 0;
    for (std::size_t a = 0; a < 3; ++a) most += waves_.highest[a] * (waves_.wave[a] / waves_.shell);
    return static_cast<std::int64_t>(most) + 2;
  }
  int components() const { return 3 + scalars_of(options_); }
  int left() const { return fields_between(options_); }
  std::int64_t numbers(const Slab& b) const { return 2 * b.planes * s_.of_y(); }
  /// Where values behind the doubles of lines begin.
  std::int64_t lines_at(const Slab& b) const {
    return even(s_.ny * b.planes * static_cast<std::int64_t>(sizeof(double) / sizeof(T)));
  }
  std::int64_t index_y(std::int64_t place) const { return place <= s_.highest_y ? place : place + s_.ny - s_.high(); }
  ModeGrid grid_of(const Slab& b) const {
    ModeGrid grid = waves_;
    grid.first[1] = static_cast<int>(index_y(b.first));
    grid.extent[0] = static_cast<int>(s_.nz);
    grid.extent[1] = static_cast<int>(s_.wide);
    grid.extent[2] = static_cast<int>(b.planes);
    return grid;
  }

  /// Components of modes, from field `at` of a buffer on.
  std::vector<HostRows> modes_of(void* modes, const Slab& b, std::int64_t count, std::int64_t at) const {
    std::vector<HostRows> rows;
    const std::int64_t plane = s_.mx * s_.nz * value;
    for (int c = 0; c < count; ++c)
      rows.push_back({static_cast<std::byte*>(modes) + (c * s_.ny + index_y(b.first)) * plane,
                      {static_cast<std::size_t>(plane)},
                      {s_.of_y() * value, b.planes, 1},
                      (at + c) * b.planes * s_.of_y() * value});
    return rows;
  }
  std::vector<HostRows> between_of(const Slab& b, std::int64_t count) const {
    std::vector<HostRows> rows;
    const std::int64_t bytes = s_.of_y() * value;
    for (int c = 0; c < count; ++c)
      rows.push_back(
          {between_.data() + (c * s_.high() + b.first) * bytes, {}, {b.planes * bytes, 1, 1}, c * b.planes * bytes});
    return rows;
  }
  std::vector<HostRows> planes_of(const Slab& b, int count) const {
    std::vector<HostRows> rows;
    const std::int64_t row = s_.wide * value;
    for (int c = 0; c < count; ++c)
      rows.push_back({between_.data() + (c * s_.high() * s_.nz + b.first) * row,
                      {static_cast<std::size_t>(s_.nz * row)},
                      {b.planes * row, s_.high(), 1},
                      c * s_.high() * b.planes * row});
    return rows;
  }
  std::vector<HostRows> doubles_of(std::int64_t first, std::int64_t count, std::int64_t at = 0) const {
    return {{doubles_.data() + first, {}, {count * static_cast<std::int64_t>(sizeof(double)), 1, 1}, at}};
  }
  std::vector<double> taken(Stream& stream, std::int64_t count) const {
    stream.synchronize();
    return {doubles_.data(), doubles_.data() + count};
  }

  /// rows(slab), work(stream, slab, from, to).
  template <class Rows, class Work>
  void over_y(Stream& stream, const Rows& rows, const Work& work) {
    run(
        stream, static_cast<std::int64_t>(slabs_.size()),
        [&](std::int64_t n) { return rows(slabs_[static_cast<std::size_t>(n)]); },
        [&](Stream& s, std::int64_t n, T* from, T* to) { work(s, slabs_[static_cast<std::size_t>(n)], from, to); });
  }
  /// rows(slab), work(stream, planes, from, to).
  template <class Rows, class Work>
  void over_z(Stream& stream, const Rows& rows, const Work& work) {
    const auto slab = [&](std::int64_t n) { return Slab{n * deep_, std::min(deep_, s_.nz - n * deep_)}; };
    run(
        stream, (s_.nz + deep_ - 1) / deep_, [&](std::int64_t n) { return rows(slab(n)); },
        [&](Stream& s, std::int64_t n, T* from, T* to) {
          const PlaneGrid grid{{static_cast<int>(s_.nx), static_cast<int>(s_.ny)},
                               static_cast<int>(s_.wide),
                               static_cast<int>(s_.highest_y),
                               static_cast<int>(slab(n).planes),
                               {waves_.wave[0], waves_.wave[1]}};
          work(s, grid, from, to);
        });
  }
  template <class Rows, class Work>
  void run(Stream& stream, std::int64_t count, const Rows& rows, const Work& work) {
    if (!work_.planning())
      return batches_.run(stream, count, rows, [&](Stream& s, std::int64_t n, std::byte* from, std::byte* to) {
        work(s, n, reinterpret_cast<T*>(from), reinterpret_cast<T*>(to));
      });
    T* const here = own();  // nothing is queued
    for (std::int64_t n = 0; n < count; ++n) work(stream, n, here, here + 1);
  }

  /// Leaves for planes z what they need.
  void leave(Stream& s, const Slab& b, const Three<T>& modes, T* fields, T* to, const Angles& turn) {
    queue([&] {
      const ModeGrid grid = grid_of(b);
      const std::int64_t step = numbers(b);
      const auto turned = [&](int first, int count, T* there) -> Three<T> {
        const Three<T> of{modes.at + first * step, step};
        if (turn == Angles{}) return of;
        Terms<T>::turn(s, grid, of, {there, step}, count, turn, 1);
        return {there, step};
      };
      queue_along_z<T>(s, grid, turned(0, 3, fields), fields);
      for (int n = 0; n < scalars_of(options_); ++n) {
        T* const two = fields + (5 + 2 * n) * step;
        Terms<T>::along_z(s, grid, turned(3 + n, 1, two), 0, two);
      }
    });
    back_along_z(s, b, left(), fields, to);
  }
  T* rest_of_products(Stream& s, const Slab& b, std::int64_t count, T* from) {
    T* const product = own();
    work_.swap_rows(s, {s_.wide, s_.nz, count * b.planes}, from, product);
    work_.lines(s, Kind::forward, s_.nz, s_.wide, count * b.planes, product, product);
    return product;
  }
  void back_along_z(Stream& s, const Slab& b, int fields, T* values, T* to) {
    work_.lines(s, Kind::backward, s_.nz, s_.wide, fields * b.planes, values, values);
    work_.swap_rows(s, {s_.nz, s_.wide, fields * b.planes}, values, to);
  }
  /// Behind six components in cells: columns along y, and rows along x.
  T* columns(const PlaneGrid& grid) const { return own() + 6 * even(s_.nx * s_.ny * grid.planes); }
  T* rows(const PlaneGrid& grid) const { return columns(grid) + 2 * s_.wide * s_.ny * grid.planes; }
  void to_cells(Stream& s, const PlaneGrid& grid, int component, const T* five, T* cells) {
    T *const along_y = columns(grid), *const along_x = rows(grid);
    queue([&] { queue_columns<T>(s, grid, component, five, along_y); });
    work_.lines(s, Kind::backward, s_.ny, s_.wide, grid.planes, along_y, along_y);
    queue([&] { queue_rows<T>(s, grid, along_y, along_x); });
    work_.lines(s, Kind::complex_to_real, s_.nx, s_.ny, grid.planes, along_x, cells);
  }
  void to_modes(Stream& s, const PlaneGrid& grid, const T* cells, T* to) {
    T *const along_y = columns(grid), *const along_x = rows(grid);
    work_.lines(s, Kind::real_to_complex, s_.nx, s_.ny, grid.planes, cells, along_x);
    work_.turn(s, {s_.wide, s_.ny, grid.planes}, along_x, {1, s_.mx, s_.mx * s_.ny}, along_y,
               {s_.ny, 1, s_.ny * s_.wide});
    work_.lines(s, Kind::forward, s_.ny, s_.wide, grid.planes, along_y, along_y);
    queue([&] { queue_kept<T>(s, grid, along_y, to); });
  }

  Options options_;
  ModeGrid waves_;
  Sizes s_;
  Buffer<std::byte> between_;
  Buffer<double> doubles_;
  Batches batches_;
  Buffer<std::byte> own_;
  BatchWork work_;
  std::int64_t deep_ = 1;  // planes z of a batch
  std::vector<Slab> slabs_;
  std::vector<double> speeds_;
};

}  // namespace

std::int64_t most_budget(const Options& options, std::int64_t budget) {
  return std::min(budget, shares * Planes(options).wanted());
}

std::int64_t least_budget(const Options& options) { return shares * Planes(options).least(); }

std::int64_t bytes_between_sweeps(const Options& options) {
  const Sizes s(options);
  return fields_between(options) * s.between() * s.nz * 2 * static_cast<std::int64_t>(size_of(options.type));
}

std::unique_ptr<OutOfCore> make_out_of_core(Device device, const Options& options, std::int64_t budget) {
  const Planes of(options);
  const std::int64_t buffer = std::max(std::min(budget / shares / 256 * 256, of.wanted()), of.least());
  if (options.type == DType::f64) return std::make_unique<Flow<double>>(device, options, buffer);
  return std::make_unique<Flow<float>>(device, options, buffer);
}

}  // namespace slipstream::dns
