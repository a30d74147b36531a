// Lines by FFTW. Its planner is not safe among threads, executing a plan on other arrays is.
#include <fftw3.h>

#include <algorithm>
#include <mutex>

#include <slipstream/error.hpp>
#include <slipstream/launch.hpp>

#include "fft/cufft.hpp"
#include "fft/lines.hpp"

namespace slipstream::fft {
namespace {

std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

/// FFTW has every function twice, by the name of the number format.
template <bool twice>
struct Names;
template <>
struct Names<false> {
  using Plan = fftwf_plan;
  using Real = float;
  using Complex = fftwf_complex;
  using Axis = fftwf_iodim64;
  static constexpr auto c2c = fftwf_plan_guru64_dft;
  static constexpr auto r2c = fftwf_plan_guru64_dft_r2c;
  static constexpr auto c2r = fftwf_plan_guru64_dft_c2r;
  static constexpr auto run_c2c = fftwf_execute_dft;
  static constexpr auto run_r2c = fftwf_execute_dft_r2c;
  static constexpr auto run_c2r = fftwf_execute_dft_c2r;
  static constexpr auto destroy = fftwf_destroy_plan;
};
template <>
struct Names<true> {
  using Plan = fftw_plan;
  using Real = double;
  using Complex = fftw_complex;
  using Axis = fftw_iodim64;
  static constexpr auto c2c = fftw_plan_guru64_dft;
  static constexpr auto r2c = fftw_plan_guru64_dft_r2c;
  static constexpr auto c2r = fftw_plan_guru64_dft_c2r;
  static constexpr auto run_c2c = fftw_execute_dft;
  static constexpr auto run_r2c = fftw_execute_dft_r2c;
  static constexpr auto run_c2r = fftw_execute_dft_c2r;
  static constexpr auto destroy = fftw_destroy_plan;
};

/// A plan of `count` transforms of a batch, for arrays of any address. Planning by estimate reads no array.
template <bool twice>
class Plan {
 public:
  using N = Names<twice>;

  Plan(const LineBatch& batch, std::int64_t count) : kind_(batch.kind) {
    const auto axes = axes_of(batch);
    const typename N::Axis many{count, batch.from.distance, batch.to.distance};
    alignas(64) static char places[128];
    void* const from = places;
    void* const to = batch.in_place ? places : places + 64;
    constexpr unsigned how = FFTW_ESTIMATE | FFTW_UNALIGNED;
    const int rank = static_cast<int>(axes.size());
    const std::lock_guard lock(planner());
    if (kind_ == Kind::real_to_complex) {
      plan_ = N::r2c(rank, axes.data(), 1, &many, real(from), complex(to), how);
    } else if (kind_ == Kind::complex_to_real) {
      plan_ = N::c2r(rank, axes.data(), 1, &many, complex(from), real(to), how);
    } else {
      const int sign = kind_ == Kind::forward ? FFTW_FORWARD : FFTW_BACKWARD;
      plan_ = N::c2c(rank, axes.data(), 1, &many, complex(from), complex(to), sign, how);
    }
    require(plan_ != nullptr, "FFTW could not plan transforms of " + std::to_string(batch.sizes.back()) + " values");
  }
  ~Plan() {
    const std::lock_guard lock(planner());
    N::destroy(plan_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void run(void* from, void* to) const {
    if (kind_ == Kind::real_to_complex) return N::run_r2c(plan_, real(from), complex(to));
    if (kind_ == Kind::complex_to_real) return N::run_c2r(plan_, complex(from), real(to));
    N::run_c2c(plan_, complex(from), complex(to));
  }

 private:
  static typename N::Real* real(void* p) { return static_cast<typename N::Real*>(p); }
  static typename N::Complex* complex(void* p) { return static_cast<typename N::Complex*>(p); }
  static std::vector<typename N::Axis> axes_of(const LineBatch& batch) {
    std::vector<typename N::Axis> axes;
    if (batch.sizes.size() > 2) {
      const std::int64_t rows = batch.sizes[1];
      axes.push_back(
          {batch.sizes[0], rows * batch.from.row * batch.from.stride, rows * batch.to.row * batch.to.stride});
    }
    if (batch.sizes.size() > 1)
      axes.push_back({batch.sizes.end()[-2], batch.from.row * batch.from.stride, batch.to.row * batch.to.stride});
    axes.push_back({batch.sizes.back(), batch.from.stride, batch.to.stride});
    return axes;
  }

  Kind kind_;
  typename N::Plan plan_ = nullptr;
};

/// A piece of the batch for each team; the last may be shorter.
template <bool twice>
struct RunPieces {
  std::shared_ptr<const Plan<twice>> whole, last;  // whoever replays a graph keeps them
  std::int64_t pieces;
  std::byte* from;
  std::byte* to;
  std::int64_t step_from, step_to;  // bytes of a piece
  std::int64_t cost;                // words of a piece
  template <class Team>
  void operator()(const Team& team) const {
    const std::int64_t p = team.index();
    (p + 1 < pieces ? whole : last)->run(from + p * step_from, to + p * step_to);
  }
};

template <bool twice>
class FftwLines final : public Lines {
 public:
  explicit FftwLines(const LineBatch& batch) {
    if (batch.count == 0) return;
    // Lines side by side share cache lines; planes are long enough by themselves.
    const std::int64_t wanted = batch.sizes.size() > 1 ? 1 : 16, together = std::min(wanted, batch.count);
    constexpr std::int64_t word = twice ? 8 : 4;
    const std::int64_t from = batch.kind == Kind::real_to_complex ? word : 2 * word;
    const std::int64_t to = batch.kind == Kind::complex_to_real ? word : 2 * word;
    pieces_.pieces = (batch.count + together - 1) / together;
    pieces_.step_from = together * batch.from.distance * from;
    pieces_.step_to = together * batch.to.distance * to;
    pieces_.cost = together * 8;
    for (const std::int64_t size : batch.sizes) pieces_.cost *= size;
    pieces_.whole = std::make_shared<const Plan<twice>>(batch, together);
    pieces_.last = pieces_.whole;
    if (const std::int64_t rest = batch.count % together)
      pieces_.last = std::make_shared<const Plan<twice>>(batch, rest);
  }

  void run(Stream& stream, const void* from, void* to) override {
    RunPieces<twice> now = pieces_;
    now.from = static_cast<std::byte*>(const_cast<void*>(from));  // its interface knows no const
    now.to = static_cast<std::byte*>(to);
    if (now.pieces) launch_teams(stream, now.pieces, 1, 0, now);
  }

 private:
  RunPieces<twice> pieces_{};
};

}  // namespace

std::string missing(Backend backend) { return backend == Backend::cuda ? cufft_missing() : std::string(); }

std::unique_ptr<Lines> make_lines(Device device, const LineBatch& batch) {
  if (device.backend == Backend::cuda) return make_cufft_lines(device, batch);
  if (batch.twice) return std::make_unique<FftwLines<true>>(batch);
  return std::make_unique<FftwLines<false>>(batch);
}

std::size_t workspace_estimate(Backend backend, const LineBatch& batch) {
  return backend == Backend::cuda ? cufft_workspace_estimate(batch) : 0;
}

}  // namespace slipstream::fft
