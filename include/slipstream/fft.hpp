#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <slipstream/batches.hpp>
#include <slipstream/exchange.hpp>
#include <slipstream/tuner.hpp>

namespace slipstream {
namespace fft {
class Pointwise;   // point-wise operation on modes, defined in slipstream/fft/pointwise.hpp
struct ModeBlock;  // block of Fourier modes, defined in slipstream/fft/modes.hpp
}  // namespace fft

struct FftOptions {
  /// Type of the values in physical space. c64, c128: complex to complex. f32, f64: real to complex. The spectrum then
  /// has only the modes 0 .. n_x / 2 along x; the others are their conjugates.
  DType type = DType::c128;
  /// Numbers of devices along y and z. Slabs, {1, p}, need one transpose; other grids are pencils, which need two. By
  /// default, {0, 0}, slabs are used where every device gets some, else the grid whose largest part is smallest.
  std::array<int, 2> process_grid{0, 0};
  /// With process_grid {0, 0}: takes the process grid whose transforms are fastest. It is measured when the plan is
  /// made, and cached on disk with the tuner's choices (TuneOptions, those of `tune` or their defaults). Each grid is
  /// measured in its final form, with tuned routes where `tune` is given. That needs an array on each device, of the
  /// larger of both sides. Without memory for it the default rule of process_grid decides.
  bool tune_process_grid = false;
  std::string tuner_cache;  ///< folder of cached measurements if `tune` is not given; empty: TuneOptions' default
  /// Leaves the spectrum where the last transform puts it, with its axes in the order z, x, y. False: the spectrum is
  /// transposed back to the order x, y, z. That costs as much as another transpose, and on several devices a copy.
  bool transposed = true;
  /// Highest |k_a| that is used, -1: all. Other modes do not travel between devices: after forward() they are
  /// undefined, and before backward() they must be zero. The 2/3 rule, (n_a - 1) / 3, leaves 4/9 of a slab's message.
  Extent highest{-1, -1, -1};
  bool scaled = true;  ///< whether backward() divides by the number of cells, in a separate pass over its result
  /// Overlaps the transfers of one component with the transforms of the next. Needs work arrays and messages twice; has
  /// no effect on one device.
  bool overlap = false;
  /// The last transform before a transpose stores its results directly at their destinations (slipstream/window.hpp),
  /// without packing. It needs such a transform on the device, and the routes kernel or direct for all messages of the
  /// transpose. Otherwise the engine packs. The host has one such transform for all lines, with the same bits either
  /// way. GPUs have it for 2^k complex values from 16, 3 * 2^k from 48, 5 * 2^k from 80, 9 * 2^k from 144, and 125 *
  /// 2^k from 250. Kernels of cuFFTDx add 7 * 2^k from 448 and 15 * 2^k from 480.
  ///
  /// The longest line has 2048 values. Real lines start at twice these lengths. If not set, results are stored so.
  std::optional<bool> store = {};
  /// Pipelining: a transpose that the engine packs goes in this many parts, each a range of planes. The lines of one
  /// part are transformed while the values of another travel. 0: one part on the host and with `overlap`, by size on
  /// GPUs. It is one part, too, where real lines have an odd number of values, or where modes along the axis to cut do
  /// not travel.
  int parts = 0;
  /// The coding of values between devices: raw, or `cast` of f64 and c128 to f32. Values that stay on a device are
  /// rounded the same way. Coded values are always packed.
  Coding coding = {};
  /// Tests the plan at its construction: random values are transformed forward, backward and forward again. Throws
  /// Error where they do not return to rounding (or to the coding's), or where the sums of squares on both sides differ
  /// (Parseval). Needs an array of each side on each device meanwhile.
  bool verify = false;
  /// Device memory to use, in bytes of each device; 0: all that a transform needs. With a limit, the arrays lie in
  /// pinned memory of the host, as physical_field() and spectral_field() say. Batches of their planes and lines pass
  /// through this much device memory. Only for slabs, and raw values. On one device backward() then changes its input,
  /// and in-place transforms keep the order of the axes (transposed = false). On several devices the spectrum is
  /// permuted, nothing is in place, and the first backward() allocates another array in pinned memory. The bits are the
  /// same on any number of devices.
  std::int64_t device_memory = 0;
  RowCopies host_copies = RowCopies::measured;  ///< how rows of out-of-core batches are copied between host and device
  bool synchronous = false;                     ///< whether out-of-core batches run one after the other, for comparison
  /// Computes FFTs on the host with this project's GPU kernels in place of FFTW, for comparison. They exist for a few
  /// lengths in double precision (docs/fft.md); results of other lengths are packed into messages.
  bool gpu_lines = false;
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< whether to measure message routes of transposes that pack their values
};

/// Memory that transforms need on a device, in bytes.
struct FftMemory {
  std::int64_t physical = 0, spectral = 0;  ///< bytes of an array of one component, which the caller owns
  std::int64_t work = 0;                    ///< bytes that the plan holds between transforms
  std::int64_t messages = 0;                ///< upper bound of the bytes of buffers for messages between devices
  std::int64_t library = 0;                 ///< estimated workspace of the library that transforms lines, in bytes
  /// whether the caller's arrays are in host memory (FftOptions::device_memory)
  bool on_host = false;

  std::int64_t total() const { return (on_host ? 0 : physical + spectral) + work + messages + library; }
};

/// Multiplier of each mode k in Fft::convolve(): the product of all members. A box of edges L has the wave numbers
/// kappa_a = 2 pi k_a / L_a.
struct FftFactor {
  std::complex<double> constant = 1;  ///< finite constant that multiplies all modes; real if physical values are real
  /// Orders n of a derivative along each axis, (i kappa_a)^n. Where n is odd and n_a is even, mode n_a / 2 has the
  /// derivative zero.
  std::array<int, 3> derivative{0, 0, 0};
  /// Power n of the Laplacian, (-|kappa|^2)^n: 1 is the Laplacian, -1 its inverse, which makes the mean zero.
  int laplacian = 0;
  double gaussian = 0;  ///< width of a Gaussian filter, exp(-|kappa|^2 width^2 / 24) (Pope 2000, 13.2); 0: none
  /// Sharp filter: modes with |kappa| above this become zero; infinite: none.
  double sharp = std::numeric_limits<double>::infinity();
  /// One array for each local block of Fft::spectral(), of its extent, on the block's device. Its numbers have the
  /// plan's precision, real or complex. They must not change until the work has run. Where the values in physical space
  /// are real, complex arrays must be Hermitian, f(-k) = conj(f(k)). This is not checked.
  std::vector<const void*> real = {}, complex = {};
  std::array<double, 3> edges{2 * std::numbers::pi, 2 * std::numbers::pi, 2 * std::numbers::pi};
};

/// How the process grid was chosen.
struct FftProcessGrids {
  struct Time {
    std::array<int, 2> grid{1, 1};
    double microseconds = 0;  ///< time of one forward and one backward transform of one component on the slowest rank
  };
  std::string source = "rules";    ///< origin of the process grid: "rules", "given" by the user, "measured" or "cache"
  std::vector<Time> times;         ///< transform times of all measured process grids; ties go to the earlier one
  std::vector<std::string> notes;  ///< notes on process grids that failed and on caches that were not read; on rank 0
};

/// Three-dimensional discrete Fourier transforms of values on any number of devices.
///
/// For u on n_x x n_y x n_z cells, forward() gives, for all modes k with 0 <= k_a < n_a,
///
///     v(k) = sum over cells j of u(j) exp(-2 pi i (k_x j_x / n_x + k_y j_y / n_y + k_z j_z / n_z)),
///
/// not normalised, and backward() gives
///
///     u(j) = 1 / (n_x n_y n_z) sum over modes k of v(k) exp(+2 pi i (...)),
///
/// so that one inverts the other; without FftOptions::scaled the factor is left out. For real u, v is stored for k_x <=
/// n_x / 2. The imaginary parts of modes that are their own conjugates are ignored. Neither changes its input, except
/// in place. For that u and v of a component may begin at the same address, in an array that holds the larger of both.
/// They may not overlap in another way.
///
/// u lies on physical(): x whole, y and z cut. v lies on spectral(): z whole, x and y cut. The axes of v are in the
/// order z, x, y (z fastest), or in that of u if FftOptions::transposed is false. Arrays are packed: no ghosts, rows
/// without gaps. Sizes are arbitrary; a device without cells holds no block. FFTW transforms lines on the host. On GPUs
/// cuFFT does, or own kernels that store their results. Transposes move all values between devices. The same
/// decomposition gives the same bits.
///
/// One object may be used by one host thread at a time. Construction, use and destruction are collective. Ranks compare
/// their calls, unless these are recorded: the first forward, backward and convolve each, and every convolution by an
/// FftFactor. An argument that one rank refuses is an Error on all ranks; a missing rank is a Timeout. Calls run after
/// one another, on any streams.
class Fft {
 public:
  /// Throws Error where an extent is below 1, the type has no Fourier transform, or the library for it is missing. The
  /// process grid must have as many places as there are devices, and cannot be both given and measured. Throws Error
  /// where a device has too little memory for the plan; it names the largest transform that fits. With
  /// FftOptions::verify it throws where the transforms are wrong.
  Fft(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options = {});
  ~Fft();
  Fft(Fft&&) noexcept;

  /// Memory in bytes that a transform of this size needs on each device of the machine; computed without allocating.
  static std::vector<FftMemory> memory(const Machine& machine, const Extent& cells, const FftOptions& options = {});
  /// Messages of all ranks in one transform of one component. The machine may be described: nothing is allocated, and
  /// no rank is asked. The route gpu_mpi counts as available without the test that an exchange makes.
  static std::vector<MessageInfo> messages(const Machine& machine, const Extent& cells, const FftOptions& options,
                                           bool forward);

  const Extent& cells() const;
  const std::array<int, 2>& process_grid() const;
  const FftProcessGrids& process_grids() const;
  const Grid& physical() const;
  const Grid& spectral() const;
  /// The axis of the modes (0: k_x) along each axis of spectral().
  const std::array<int, 3>& spectral_axes() const;
  /// Options of a field of cell values, or of one of Fourier modes. The caller may set its number of components.
  FieldOptions physical_field(const std::string& name) const;
  FieldOptions spectral_field(const std::string& name) const;

  /// Transforms one component, given by its arrays on this rank, one for each block of physical().local() and
  /// spectral().local(). A stream on the i-th device of this rank is streams[i]. Work is queued; the host waits only
  /// where a route of the exchange needs it.
  void forward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams);
  void backward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams);
  /// A batch of several components, from[c] and to[c] as for forward(). Throws Error for overlaps that are not allowed.
  /// Only where both begin at one address may to[c] overlap from[c]. It may not overlap inputs of later components,
  /// other outputs, or an array of another device.
  void forward_components(const std::vector<std::vector<const void*>>& from, const std::vector<std::vector<void*>>& to,
                          std::vector<Stream>& streams);
  void backward_components(const std::vector<std::vector<const void*>>& from, const std::vector<std::vector<void*>>& to,
                           std::vector<Stream>& streams);
  /// Transforms all components of fields. Throws Error where a field lies on another grid, is not packed or has another
  /// type.
  void forward(const Field& from, Field& to, std::vector<Stream>& streams);
  void backward(const Field& from, Field& to, std::vector<Stream>& streams);

  /// forward(), an operation on the modes, backward(): to = the inverse transform of factor times that of `from`.
  /// `through` is work memory, arrays as forward() fills, whose values are undefined afterwards. `through` may begin
  /// where `from` or `to` does, as forward() and backward() allow. Modes that are not used (FftOptions::highest) become
  /// zero. The operation and the division by the number of cells are fused into other passes where possible. describe()
  /// tells whether they are fused. The plan's own kernels apply them to lines along z on load, FFTW before it stores
  /// these lines. A copy of a spectrum in the order x, y, z applies them, too. Throws Error where a factor is not
  /// allowed or differs between ranks. Also throws where its arrays lie in memory that is written.
  void convolve(const std::vector<const void*>& from, const std::vector<void*>& through, const std::vector<void*>& to,
                const FftFactor& factor, std::vector<Stream>& streams);
  void convolve(const Field& from, Field& through, Field& to, const FftFactor& factor, std::vector<Stream>& streams);
  /// Convolves by the caller's own operations (slipstream/fft/operations.hpp), one for each local block of spectral().
  /// The operations must include backward_factor(), and must live until the work has run.
  using Operations = std::vector<std::shared_ptr<const fft::Pointwise>>;
  void convolve(const Field& from, Field& through, Field& to, const Operations& operations,
                std::vector<Stream>& streams);
  void convolve_components(const std::vector<std::vector<const void*>>& from,
                           const std::vector<std::vector<void*>>& through, const std::vector<std::vector<void*>>& to,
                           const Operations& operations, std::vector<Stream>& streams);
  void convolve_components(const std::vector<std::vector<const void*>>& from,
                           const std::vector<std::vector<void*>>& through, const std::vector<std::vector<void*>>& to,
                           const FftFactor& factor, std::vector<Stream>& streams);
  /// Operations that multiply spectral values point by point by a given factor, one per block of modes on this rank.
  Operations operations(const FftFactor& factor) const;
  fft::ModeBlock mode_block(std::int64_t block) const;
  /// The factor of backward(), which operations must apply in its place: 1 / cells, or 1 without FftOptions::scaled.
  double backward_factor() const;
  /// The steps of a transform in each direction, and the pass in which convolve() applies a factor or operations.
  std::string describe() const;
  std::string describe(const Operations& operations) const;

  /// Throws Timeout where a wait for another device timed out. Call this after the streams were synchronized.
  void check();
  /// True where transforms may be recorded into a graph of the caller's streams and replayed.
  bool capturable() const;
  /// Bytes that the plan holds on a device of this rank.
  std::int64_t bytes_on(Device device) const;
  /// Bytes copied from and to this rank's host memory since construction (FftOptions::device_memory).
  std::int64_t host_bytes_moved() const;
  /// Transposes of one forward transform: the number that need no packing (FftOptions::store), and the number of all.
  std::pair<int, int> stored_moves() const;
  /// Messages of one forward transform that leave or reach this rank's devices.
  std::vector<MessageInfo> messages() const;
  /// Messages of all ranks with the times of the last forward transform, transpose by transpose (Exchange::report).
  /// Waits. Collective.
  std::vector<ReportRow> report();
  /// Tuning of all transposes of the plan: the options chosen for the first one, the total seconds, and "measured" if
  /// any of them was measured.
  const Tuning& tuning() const;

 private:
  friend class PackedMoves;  // benchmark of transposes, defined in bench/native/packed_moves.hpp
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
