// On the host a thread transforms a few lines and stores them while they are in its cache.
#include <complex>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "fft/fftw_plan.hpp"
#include "fft/radix_stores.hpp"

namespace slipstream::fft {
namespace {

/// Pieces of as many planes as fill a cache line: along their axis the target may be without gaps.
template <bool twice>
struct StorePieces {
  using Value = std::complex<std::conditional_t<twice, double, float>>;
  static constexpr std::int64_t deep = 64 / static_cast<std::int64_t>(sizeof(Value));

  Pieces<twice> pieces;
  std::int64_t cost;
  Extent block;  // the lines' axis first
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
    // A transform of two axes is a whole plane.
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
  /// Innermost the axis along which the target has the smallest steps.
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

bool can_store(Backend backend, bool own, const LineBatch& batch) {
  return (backend == Backend::host && !own) || radix_holds(batch);
}

std::unique_ptr<StoredLines> make_stored_lines(Device device, bool own, const LineBatch& batch, const Extent& block) {
  if (device.backend != Backend::host || own) return make_radix_stored_lines(device, batch, block);
  if (batch.twice) return std::make_unique<FftwStoredLines<true>>(device, batch, block);
  return std::make_unique<FftwStoredLines<false>>(device, batch, block);
}

}  // namespace slipstream::fft
