// FFTs of lines by FFTW. Before a transpose, a thread transforms a few lines and stores them while they are in cache.
#include <complex>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include <slipstream/fft/pointwise.hpp>

#include "fft/cufft.hpp"
#include "fft/fftw_plan.hpp"
#include "fft/radix_stores.hpp"
#include "fft/stores.hpp"

namespace slipstream::fft {
namespace {

template <bool twice>
struct RunPieces {
  Pieces<twice> pieces;
  std::byte* from;
  std::byte* to;
  std::int64_t cost;
  template <class Team>
  void operator()(const Team& team) const {
    pieces.run(team.index() % pieces.in_plane, team.index() / pieces.in_plane, from, to);
  }
};

/// Transforms interleaved lines and applies their operation while they are in the cache.
template <bool twice>
struct RunPiecesWith {
  RunPieces<twice> run;
  Operation operation;
  std::int64_t cost;
  template <class Team>
  void operator()(const Team& team) const {
    run(team);
    const Pieces<twice>& p = run.pieces;
    const std::int64_t plane = team.index() / p.in_plane, piece = team.index() % p.in_plane;
    const std::int64_t first = plane * p.rows + piece * p.together;
    operation->lines(first, std::min(first + p.together, (plane + 1) * p.rows), run.to + first * p.step_to);
  }
};

template <bool twice>
class FftwLines final : public Lines {
 public:
  explicit FftwLines(const LineBatch& batch)
      : pieces_(batch),
        side_by_side_(batch.kind == Kind::forward && batch.sizes.size() == 1 && batch.to.stride == 1 &&
                      batch.to.distance == batch.sizes[0]) {}

  void run(Stream& stream, const void* from, void* to) override {
    auto* const in = static_cast<std::byte*>(const_cast<void*>(from));  // FFTW takes no const pointers
    if (pieces_.count())
      launch_teams(stream, pieces_.count(), 1, 0,
                   RunPieces<twice>{pieces_, in, static_cast<std::byte*>(to), pieces_.cost});
  }
  void run_with(Stream& stream, const void* from, void* to, const Operation& operation) override {
    auto* const in = static_cast<std::byte*>(const_cast<void*>(from));
    const RunPieces<twice> run{pieces_, in, static_cast<std::byte*>(to), pieces_.cost};
    if (pieces_.count())
      launch_teams_on_host(stream, pieces_.count(), 1, 0, RunPiecesWith<twice>{run, operation, pieces_.cost});
  }
  bool applies(const Pointwise&) const override { return side_by_side_; }

 private:
  Pieces<twice> pieces_;
  bool side_by_side_;  ///< whether modes along the first axis of the block are interleaved
};

/// Transforms pieces of as many planes as fill a cache line, because the target may be contiguous across planes.
template <bool twice>
struct StorePieces {
  using Value = std::complex<std::conditional_t<twice, double, float>>;
  static constexpr std::int64_t deep = 64 / static_cast<std::int64_t>(sizeof(Value));

  Pieces<twice> pieces;
  std::int64_t cost;
  Extent block;  // extent of the block; the axis of the lines is the first
  const Window* list;
  std::int32_t windows;
  Windows<Value> out;
  std::byte* from;
  Value* work;

  template <class Team>
  void operator()(const Team& team) const {
    const std::int64_t piece = team.index() % pieces.in_plane, first = team.index() / pieces.in_plane * deep;
    const std::int64_t planes = std::min(first + deep, pieces.planes);
    for (std::int64_t plane = first; plane < planes; ++plane)
      pieces.run(piece, plane, from, reinterpret_cast<std::byte*>(work));
    if (!out.open()) return;
    // In transforms of two axes a piece of work is a whole plane.
    const std::int64_t lines = pieces.rows == 1 ? block[1] : pieces.together;
    const Box done{{0, piece * lines, first}, {block[0], std::min((piece + 1) * lines, block[1]), planes}};
    for (std::int32_t w = 0; w < windows; ++w) {
      const Window& window = list[w];
      const Box box =
          intersection(done, {{window.lo[0], window.lo[1], window.lo[2]}, {window.hi[0], window.hi[1], window.hi[2]}});
      if (!box.empty()) store(w, box);
    }
  }

 private:
  /// Stores values in a loop whose innermost index is along the axis with the smallest steps in the target.
  void store(std::int32_t w, const Box& box) const {
    const std::int64_t* const there = list[w].stride;
    const Extent here{1, block[0], block[0] * block[1]};
    std::array<std::size_t, 3> axes{0, 1, 2};
    std::sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return there[a] < there[b]; });
    const auto [a, b, c] = axes;
    auto* const to = reinterpret_cast<std::byte*>(out.place(w, box.lo[0], box.lo[1], box.lo[2]));
    const Value* const values = work + box.lo[0] + here[1] * box.lo[1] + here[2] * box.lo[2];
    for (std::int64_t k = 0; k < box.extent(static_cast<int>(c)); ++k)
      for (std::int64_t j = 0; j < box.extent(static_cast<int>(b)); ++j) {
        const Value* const source = values + j * here[b] + k * here[c];
        std::byte* const target = to + j * there[b] + k * there[c];
        for (std::int64_t i = 0; i < box.extent(static_cast<int>(a)); ++i)
          *reinterpret_cast<Value*>(target + i * there[a]) = source[i * here[a]];
      }
  }
};

template <bool twice>
class FftwStoredLines final : public StoredLines {
 public:
  FftwStoredLines(Device device, const LineBatch& batch, const Extent& block)
      : device_(device), block_(block), pieces_(batch) {}

  void run(Stream& stream, const void* from, void* work, const Exchange& exchange) override {
    using Kernel = StorePieces<twice>;
    using Value = typename Kernel::Value;
    if (!pieces_.count()) return;
    const std::vector<Window>& list = exchange.window_list(0, device_);
    const std::int64_t layers = (pieces_.planes + Kernel::deep - 1) / Kernel::deep;
    launch_teams_on_host(stream, layers * pieces_.in_plane, 1, 0,
                         Kernel{pieces_, pieces_.cost * Kernel::deep, block_, list.data(),
                                static_cast<std::int32_t>(list.size()), exchange.windows<Value>(0, device_),
                                static_cast<std::byte*>(const_cast<void*>(from)), static_cast<Value*>(work)});
  }

 private:
  Device device_;
  Extent block_;
  Pieces<twice> pieces_;
};

}  // namespace

void Lines::run_with(Stream&, const void*, void*, const Operation&) {
  throw Error(ErrorCode::internal, "lines whose transform takes no operation were given one");
}
void StoredLines::run_with(Stream&, const void*, void*, const Exchange&, const Operation&) {
  throw Error(ErrorCode::internal, "lines whose transform takes no operation were given one");
}

void StoredLines::run_concurrently(Stream& stream, const void* from, void* work, const Exchange& exchange,
                                   Lines& others, const void* others_from, void* others_to) {
  run(stream, from, work, exchange);
  others.run(stream, others_from, others_to);
}

std::string missing(Backend backend) { return backend == Backend::cuda ? cufft_missing() : std::string(); }

std::unique_ptr<Lines> make_lines(Device device, const LineBatch& batch) {
  if (batch.permuted) return make_radix_lines(device, batch);
  if (device.backend == Backend::cuda) return make_cufft_lines(device, batch);
  if (batch.twice) return std::make_unique<FftwLines<true>>(batch);
  return std::make_unique<FftwLines<false>>(batch);
}

// Estimate without cuFFT, for described machines. cuFFT's own estimate takes 32-bit sizes. Powers of two need no
// workspace; other lengths need at most as much as the values.
std::size_t workspace_estimate(Backend backend, const LineBatch& batch) {
  const bool powers_of_two =
      std::all_of(batch.sizes.begin(), batch.sizes.end(), [](std::int64_t n) { return (n & (n - 1)) == 0; });
  if (backend != Backend::cuda || powers_of_two) return 0;
  std::size_t values = static_cast<std::size_t>(batch.count);
  for (const std::int64_t size : batch.sizes) values *= static_cast<std::size_t>(size);
  return values * (batch.twice ? 16 : 8);
}

bool can_store(Backend backend, bool own, const LineBatch& batch) {
  return (backend == Backend::host && !own) || radix_holds(backend, batch);
}

std::unique_ptr<StoredLines> make_stored_lines(Device device, bool own, const LineBatch& batch, const Extent& block) {
  if (device.backend != Backend::host || own) return make_radix_stored_lines(device, batch, block);
  if (batch.twice) return std::make_unique<FftwStoredLines<true>>(device, batch, block);
  return std::make_unique<FftwStoredLines<false>>(device, batch, block);
}

}  // namespace slipstream::fft
