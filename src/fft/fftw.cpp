// Lines by FFTW.
#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "fft/cufft.hpp"
#include "fft/fftw_plan.hpp"
#include "fft/radix_stores.hpp"

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

template <bool twice>
class FftwLines final : public Lines {
 public:
  explicit FftwLines(const LineBatch& batch) : pieces_(batch) {}

  void run(Stream& stream, const void* from, void* to) override {
    auto* const in = static_cast<std::byte*>(const_cast<void*>(from));  // its interface knows no const
    if (pieces_.count())
      launch_teams(stream, pieces_.count(), 1, 0,
                   RunPieces<twice>{pieces_, in, static_cast<std::byte*>(to), pieces_.cost});
  }

 private:
  Pieces<twice> pieces_;
};

}  // namespace

std::string missing(Backend backend) { return backend == Backend::cuda ? cufft_missing() : std::string(); }

std::unique_ptr<Lines> make_lines(Device device, const LineBatch& batch) {
  if (batch.turned) return make_radix_lines(device, batch);
  if (device.backend == Backend::cuda) return make_cufft_lines(device, batch);
  if (batch.twice) return std::make_unique<FftwLines<true>>(batch);
  return std::make_unique<FftwLines<false>>(batch);
}

// Known without cuFFT, for machines that are not there. Its own estimate takes 32-bit sizes; most sizes need none,
// others at most as much as the values themselves.
std::size_t workspace_estimate(Backend backend, const LineBatch& batch) {
  if (backend != Backend::cuda) return 0;
  std::size_t values = static_cast<std::size_t>(batch.count);
  for (const std::int64_t size : batch.sizes) values *= static_cast<std::size_t>(size);
  return values * (batch.twice ? 16 : 8);
}

}  // namespace slipstream::fft
