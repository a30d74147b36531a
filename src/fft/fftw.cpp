// Lines by FFTW.
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

/// Lines that are left side by side are changed while they are in the cache.
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
    auto* const in = static_cast<std::byte*>(const_cast<void*>(from));  // its interface knows no const
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
  bool side_by_side_;  ///< modes, along the first axis of their block
};

}  // namespace

void Lines::run_with(Stream&, const void*, void*, const Operation&) {
  throw Error(ErrorCode::internal, "lines whose transform takes no operation were given one");
}
void StoredLines::run_with(Stream&, const void*, void*, const Exchange&, const Operation&) {
  throw Error(ErrorCode::internal, "lines whose transform takes no operation were given one");
}

void StoredLines::run_beside(Stream& stream, const void* from, void* work, const Exchange& exchange, Lines& others,
                             const void* others_from, void* others_to) {
  run(stream, from, work, exchange);
  others.run(stream, others_from, others_to);
}

std::string missing(Backend backend) { return backend == Backend::cuda ? cufft_missing() : std::string(); }

std::unique_ptr<Lines> make_lines(Device device, const LineBatch& batch) {
  if (batch.turned) return make_radix_lines(device, batch);
  if (device.backend == Backend::cuda) return make_cufft_lines(device, batch);
  if (batch.twice) return std::make_unique<FftwLines<true>>(batch);
  return std::make_unique<FftwLines<false>>(batch);
}

// Known without cuFFT, for machines that are not there. Its own estimate takes 32-bit sizes; powers of two need none,
// others at most as much as the values themselves.
std::size_t workspace_estimate(Backend backend, const LineBatch& batch) {
  const bool powers_of_two =
      std::all_of(batch.sizes.begin(), batch.sizes.end(), [](std::int64_t n) { return (n & (n - 1)) == 0; });
  if (backend != Backend::cuda || powers_of_two) return 0;
  std::size_t values = static_cast<std::size_t>(batch.count);
  for (const std::int64_t size : batch.sizes) values *= static_cast<std::size_t>(size);
  return values * (batch.twice ? 16 : 8);
}

}  // namespace slipstream::fft
