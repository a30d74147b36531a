// Checks a plan with random values: forward, backward and forward again.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "coding/wire.hpp"
#include "fft/impl.hpp"
#include "machine/agree.hpp"

namespace slipstream::fft {
namespace {

/// Random value of a cell in [-1, 1), independent of the number of ranks (splitmix64).
double random_value(std::uint64_t cell) {
  std::uint64_t x = (cell + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return 0x1p-52 * static_cast<double>((x ^ (x >> 31)) >> 11) - 1;
}

/// Neumaier's compensated sum: its error does not grow with the number of terms.
class Sum {
 public:
  void add(double x) {
    const double next = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

/// Values of physical space or of the spectrum on this rank, block by block; a complex value counts as two numbers.
template <class T>
struct Side {
  Field field;
  std::vector<std::vector<T>> blocks;

  Side(const Grid& grid, const FieldOptions& options) : field(grid, options) {
    for (const std::int64_t id : grid.local())
      blocks.emplace_back(static_cast<std::size_t>(grid.block(id).box.volume()) * size_of(options.type) / sizeof(T));
  }
  void* place(std::size_t n) const {
    const std::int64_t id = field.grid().local()[n];
    return field.data(id) + static_cast<std::int64_t>(size_of(field.options().type)) * field.shape(id).origin;
  }
  void up(std::vector<Stream>& streams) {
    each(streams, [&](Stream& s, std::size_t n) { copy(s, place(n), blocks[n].data(), blocks[n].size() * sizeof(T)); });
  }
  void down(std::vector<Stream>& streams) {
    each(streams, [&](Stream& s, std::size_t n) { copy(s, blocks[n].data(), place(n), blocks[n].size() * sizeof(T)); });
  }

 private:
  template <class F>
  void each(std::vector<Stream>& streams, const F& f) {
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      const Device device = field.device(field.grid().local()[n]);
      Stream& stream =
          *std::find_if(streams.begin(), streams.end(), [&](const Stream& s) { return s.device() == device; });
      f(stream, n);
      stream.synchronize();
    }
  }
};

/// Calls f(index in the block, cell) for each cell of a block's box.
template <class F>
void each_cell(const Box& box, const F& f) {
  std::size_t n = 0;
  for (std::int64_t k = box.lo[2]; k < box.hi[2]; ++k)
    for (std::int64_t j = box.lo[1]; j < box.hi[1]; ++j)
      for (std::int64_t i = box.lo[0]; i < box.hi[0]; ++i) f(n++, Extent{i, j, k});
}

template <class T>
class Check {
 public:
  Check(const Communicator& comm, const Machine& machine, Fft& fft, const FftOptions& options)
      : comm_(comm),
        fft_(fft),
        options_(options),
        real_(!is_complex(options.type)),
        u_(fft.physical(), fft.physical_field("values")),
        v_(fft.spectral(), fft.spectral_field("modes")) {
    for (const int d : machine.devices_of_rank(comm.rank())) streams_.emplace_back(machine.device(d).local);
  }

  void run() {
    each_value([&](std::size_t b, std::size_t n, std::uint64_t number) {
      u_.blocks[b][n] = static_cast<T>(random_value(number));
    });
    transform(true);
    const std::vector<std::vector<T>> there = v_.blocks;
    transform(false);
    const auto all = static_cast<double>(volume(fft_.cells()));
    const double scale = options_.scaled ? 1 : 1 / all;
    if (scale != 1)
      for (auto& block : u_.blocks)
        for (T& value : block) value = static_cast<T>(value * scale);
    Sum squares_of_cells, squares_of_modes;
    double off = 0;
    each_value([&](std::size_t b, std::size_t n, std::uint64_t number) {
      const double value = u_.blocks[b][n];
      squares_of_cells.add(value * value);
      if (everything()) off += square(value - random_value(number));
    });
    for_modes([&](std::size_t b, std::size_t n, double weight) {
      squares_of_modes.add(weight * (square(there[b][2 * n]) + square(there[b][2 * n + 1])));
    });
    const double cells = comm_.sum_in_rank_order(squares_of_cells.value()),
                 modes = comm_.sum_in_rank_order(squares_of_modes.value()) / all;
    off = std::sqrt(comm_.sum_in_rank_order(off) / cells);
    transform(true);
    double again = 0;
    for_modes([&](std::size_t b, std::size_t n, double weight) {
      for (std::size_t part : {2 * n, 2 * n + 1})
        again += weight * square(static_cast<double>(v_.blocks[b][part]) - there[b][part]);
    });
    again = std::sqrt(comm_.sum_in_rank_order(again) / all / cells);
    const double parseval = std::abs(modes / cells - 1);
    require(std::max({off, again, parseval}) <= most(), ErrorCode::internal,
            "a Fourier transform of " + to_string(fft_.cells()) + " cells of " + to_string(options_.type) +
                " is wrong: values come back with a relative error of " + shown(std::max(off, again)) +
                ", and the sums of squares of cells and modes differ by " + shown(parseval) + " of them; at most " +
                shown(most()) + " was expected. Compare with other routes (exchange.routes) or with store = false",
            {{"error", std::max(off, again)}, {"parseval", parseval}, {"limit", most()}});
  }

 private:
  static double square(double x) { return x * x; }
  static std::string shown(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", x);
    return text;
  }
  bool everything() const { return options_.highest == Extent{-1, -1, -1}; }
  /// Largest relative error that is accepted; rounding errors grow with the logarithm of the number of cells.
  double most() const {
    double unit = sizeof(T) == 8 ? 0x1p-52 : 0x1p-23;
    if (options_.coding.kind != Coding::Kind::raw)
      unit = std::max(unit, 2 * wire_of(options_.coding, dtype_of<std::complex<T>>(), "modes").worst(dtype_of<T>(), 1));
    return 4 * unit * (1 + std::log2(static_cast<double>(volume(fft_.cells()))));
  }
  template <class F>
  void each_value(const F& f) {
    const Extent& n = fft_.cells();
    const std::size_t parts = real_ ? 1 : 2;
    for (std::size_t b = 0; b < u_.blocks.size(); ++b)
      each_cell(fft_.physical().block(fft_.physical().local()[b]).box, [&](std::size_t at, const Extent& p) {
        const auto cell = static_cast<std::uint64_t>((p[2] * n[1] + p[1]) * n[0] + p[0]);
        for (std::size_t part = 0; part < parts; ++part) f(b, parts * at + part, parts * cell + part);
      });
  }
  /// Calls f(block, mode, weight) for the modes in use. With real values a mode also represents its conjugate.
  template <class F>
  void for_modes(const F& f) {
    for (std::size_t b = 0; b < v_.blocks.size(); ++b)
      each_cell(fft_.spectral().block(fft_.spectral().local()[b]).box, [&](std::size_t at, const Extent& q) {
        if (!used(q)) return;
        const std::int64_t kx = mode(q, 0);
        f(b, at, real_ && kx > 0 && 2 * kx != fft_.cells()[0] ? 2 : 1);
      });
  }
  std::int64_t mode(const Extent& q, int axis) const {
    for (std::size_t a = 0; a < 3; ++a)
      if (fft_.spectral_axes()[a] == axis) return q[a];
    return 0;
  }
  bool used(const Extent& q) const {
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const std::int64_t k = mode(q, axis), most = options_.highest[a];
      if (most >= 0 && std::min(k, fft_.cells()[a] - k) > most) return false;
    }
    return true;
  }
  /// Transforms the contents of the blocks in place; modes that are not in use become zero.
  void transform(bool forward) {
    on_all_ranks(comm_, [&] { forward ? u_.up(streams_) : v_.up(streams_); });
    forward ? fft_.forward(u_.field, v_.field, streams_) : fft_.backward(v_.field, u_.field, streams_);
    on_all_ranks(comm_, [&] {
      for (Stream& stream : streams_) stream.synchronize();
      fft_.check();
      forward ? v_.down(streams_) : u_.down(streams_);
    });
    if (!forward || everything()) return;
    for (std::size_t b = 0; b < v_.blocks.size(); ++b)
      each_cell(fft_.spectral().block(fft_.spectral().local()[b]).box, [&](std::size_t at, const Extent& q) {
        if (!used(q)) v_.blocks[b][2 * at] = v_.blocks[b][2 * at + 1] = 0;
      });
  }

  const Communicator& comm_;
  Fft& fft_;
  const FftOptions& options_;
  bool real_;
  Side<T> u_, v_;
  std::vector<Stream> streams_;
};

}  // namespace

void verify(const Communicator& comm, const Machine& machine, Fft& fft, const FftOptions& options) {
  const bool twice = options.type == DType::f64 || options.type == DType::c128;
  if (twice) return Check<double>(comm, machine, fft, options).run();
  Check<float>(comm, machine, fft, options).run();
}

}  // namespace slipstream::fft
