#pragma once
// Plans of FFTW. Only execution on other arrays is thread-safe; the planner is not.
#include <fftw3.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <slipstream/error.hpp>

#include "fft/lines.hpp"

namespace slipstream::fft {

inline std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

/// Names of FFTW's functions, which exist once per number format.
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

/// Plan of FFTW for `count` transforms of a batch, for arrays at any address. Planning by estimate reads no array.
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
    require(plan_ != nullptr, ErrorCode::unavailable,
            "FFTW could not plan transforms of " + std::to_string(batch.sizes.back()) + " values");
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

/// Splits a batch into the pieces that a thread transforms at once: up to 16 lines of a plane, or one transform of
/// several axes. Equal plans and equal neighbours give equal bits, wherever the results are stored.
template <bool twice>
struct Pieces {
  // FFTW plans: `whole` for as many lines as a thread transforms at once, `last` for fewer lines at the end of a plane
  std::shared_ptr<const Plan<twice>> whole, last;
  std::int64_t in_plane = 0, planes = 0;
  std::int64_t rows = 1, together = 1;      // lines per plane, and lines that a thread transforms at once
  std::int64_t step_from = 0, step_to = 0;  // bytes from one line to the next
  std::int64_t cost = 0;                    // words that one FFTW call (a piece of the batch) reads and writes

  Pieces() = default;
  explicit Pieces(const LineBatch& batch) {
    if (batch.count == 0) return;
    // Planes of interleaved lines are split into rows, because lines share cache lines. Contiguous lines need no
    // split.
    rows = batch.sizes.size() > 1 ? 1 : batch.rows ? batch.rows : batch.count;
    planes = batch.count / rows;
    together = std::min<std::int64_t>(16, rows);
    in_plane = (rows + together - 1) / together;
    constexpr std::int64_t word = twice ? 8 : 4;
    step_from = batch.from.distance * (batch.kind == Kind::real_to_complex ? word : 2 * word);
    step_to = batch.to.distance * (batch.kind == Kind::complex_to_real ? word : 2 * word);
    cost = together * 8;
    for (const std::int64_t size : batch.sizes) cost *= size;
    whole = std::make_shared<const Plan<twice>>(batch, together);
    last = rows % together ? std::make_shared<const Plan<twice>>(batch, rows % together) : whole;
  }
  std::int64_t count() const { return in_plane * planes; }
  /// Transforms one piece of a plane, which is up to 16 lines or one transform of several axes.
  void run(std::int64_t piece, std::int64_t plane, std::byte* from, std::byte* to) const {
    const std::int64_t line = plane * rows + piece * together;
    (piece + 1 < in_plane ? whole : last)->run(from + line * step_from, to + line * step_to);
  }
};

}  // namespace slipstream::fft
