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
class Pointwise;   // slipstream/fft/pointwise.hpp
struct ModeBlock;  // slipstream/fft/modes.hpp
}  // namespace fft

struct FftOptions {
  /// Of the values in physical space. c64, c128: complex to complex. f32, f64: real to complex, whose spectrum has the
  /// modes 0 .. n_x / 2 along x alone; the others are their conjugates.
  DType type = DType::c128;
  /// Devices that share y and z: {1, p} are slabs, which move once, others pencils, which move twice. {0, 0}: slabs
  /// where every device gets some, else the grid whose largest part is smallest.
  std::array<int, 2> process_grid{0, 0};
  /// With {0, 0}: the grid whose transforms are fastest, measured when the plan is made and remembered on disk with the
  /// tuner's choices (TuneOptions, those of `tune` or their defaults). Each is measured as it would be used, with tuned
  /// routes where `tune` is given, on an array a device of the larger of both sides; where memory does not hold it the
  /// rule above decides.
  bool tune_process_grid = false;
  std::string tuner_cache;  ///< where it is remembered when `tune` is not given; empty: where the tuner does
  /// The spectrum stays where the last transform leaves it, its axes in the order z, x, y. False: it comes back to the
  /// order x, y, z, which costs as much as another transpose, and on several devices a copy.
  bool transposed = true;
  /// Highest |k_a| that is used, -1: all. Other modes do not travel between devices: after forward() what stands there
  /// is of no use, and before backward() they must be zero. The 2/3 rule, (n_a - 1) / 3, leaves 4/9 of a slab's
  /// message.
  Extent highest{-1, -1, -1};
  bool scaled = true;  ///< backward() divides by the number of cells, in a pass of its own over what it gives
  /// Of several components, one's values travel while the lines of the next are transformed. Takes work arrays and
  /// messages twice; without effect on one device.
  bool overlap = false;
  /// The last transform before a move stores its results where they must go (slipstream/window.hpp), and nothing packs
  /// them: where the device has such a transform, and all messages of the move travel by the routes kernel or direct.
  /// Elsewhere the engine packs. The host has one for all lines, whose results have the same bits either way; GPUs for
  /// complex lines of 2^k values from 16, 3 * 2^k from 48, 5 * 2^k from 80, 9 * 2^k from 144 and 125 * 2^k from 250,
  /// and real lines from twice as many, up to 2048; with cuFFTDx built in 7 * 2^k from 448 and 15 * 2^k from 480, too.
  /// None: as true.
  std::optional<bool> store = {};
  /// A move that the engine packs goes in so many parts, planes by planes, so that the lines of one are transformed
  /// while the values of another travel. 0: one on the host and with `overlap`, by size on GPUs. One, too, where real
  /// lines have an odd number of values, or modes along the axis that would be cut do not travel.
  int parts = 0;
  /// How values travel between devices, and as which those that stay on one are rounded: as they are, or `cast`, f64
  /// and c128 to f32. What is coded is packed.
  Coding coding = {};
  /// When the plan is made, random values are transformed there, back and there again: it throws Error where they do
  /// not come back to rounding (or the coding's), or the sums of squares on both sides differ (Parseval). Takes an
  /// array of each side a device meanwhile.
  bool verify = false;
  /// Bytes of each device, 0: all that a transform takes. With a number, the arrays lie in pinned memory of the host,
  /// as physical_field() and spectral_field() say. Batches of their planes and lines pass through so much memory of the
  /// devices. For slabs, and raw values. On one device backward() changes what it reads then, and in place a transform
  /// keeps the order of the axes (transposed = false). On several the spectrum is turned, nothing is in place, and the
  /// first backward() makes an array more in pinned memory. The bits are the same on any number of devices.
  std::int64_t device_memory = 0;
  RowCopies host_copies = RowCopies::measured;  ///< how rows of batches travel
  bool synchronous = false;                     ///< batches one after the other, to compare with
  /// Results are stored by the kernels that GPUs have, on the host too: to compare both. The host has them for a few
  /// lines in double precision (docs/fft.md); others are packed.
  bool gpu_lines = false;
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< measure the routes of every transpose that the engine packs
};

/// What a device needs, in bytes.
struct FftMemory {
  std::int64_t physical = 0, spectral = 0;  ///< an array of the caller's, of one component
  std::int64_t work = 0;                    ///< what the plan holds between transforms
  std::int64_t messages = 0;                ///< at most, for values in flight
  std::int64_t library = 0;                 ///< an estimate: workspace of the library that transforms lines
  bool on_host = false;                     ///< the caller's arrays are in host memory (FftOptions::device_memory)

  std::int64_t total() const { return (on_host ? 0 : physical + spectral) + work + messages + library; }
};

/// What Fft::convolve() multiplies each mode k by: the product of all that is given. A box of edges L has the wave
/// numbers 2 pi k_a / L_a, written kappa_a.
struct FftFactor {
  std::complex<double> constant = 1;  ///< finite; real where the values in physical space are
  /// (i kappa_a)^n, a derivative of order n along each axis. Of an odd order the mode n_a / 2 of an even number of
  /// cells n_a has none.
  std::array<int, 3> derivative{0, 0, 0};
  /// (-|kappa|^2)^n: 1 is the Laplacian, -1 its inverse, where the mean becomes zero.
  int laplacian = 0;
  double gaussian = 0;  ///< exp(-|kappa|^2 width^2 / 24), the Gaussian filter of this width (Pope 2000, 13.2)
  /// Modes with |kappa| above it become zero; infinite: none.
  double sharp = std::numeric_limits<double>::infinity();
  /// For each local block of Fft::spectral() an array of its extent on the block's device: of numbers of the plan's
  /// format, or of complex ones. They must stay as they are until the work has run. Where the values in physical space
  /// are real, complex arrays must be Hermitian, f(-k) = conj(f(k)): nobody checks.
  std::vector<const void*> real = {}, complex = {};
  std::array<double, 3> edges{2 * std::numbers::pi, 2 * std::numbers::pi, 2 * std::numbers::pi};
};

/// How a process grid was found.
struct FftProcessGrids {
  struct Time {
    std::array<int, 2> grid{1, 1};
    double microseconds = 0;  ///< of one forward and one backward transform of one component, slowest rank
  };
  std::string source = "rules";    ///< or "given", "measured", "cache"
  std::vector<Time> times;         ///< in the order of preference: fewer moves first
  std::vector<std::string> notes;  ///< candidates that failed, caches not read; on rank 0
};

/// Three-dimensional discrete Fourier transforms of values that lie on any number of devices.
///
/// For u on n_x x n_y x n_z cells, forward() gives, for all modes k with 0 <= k_a < n_a,
///
///     v(k) = sum over cells j of u(j) exp(-2 pi i (k_x j_x / n_x + k_y j_y / n_y + k_z j_z / n_z)),
///
/// not normalised, and backward() gives
///
///     u(j) = 1 / (n_x n_y n_z) sum over modes k of v(k) exp(+2 pi i (...)),
///
/// so that one undoes the other; without FftOptions::scaled the factor is left out. Of real u, v is stored for
/// k_x <= n_x / 2; what is not real in modes that are their own conjugates is not used. Neither changes what it reads,
/// but where it is asked to work in place: u and v of a component may begin at the same address, of an array that
/// holds the larger of both. They may not overlap in another way.
///
/// u lies on physical(): x whole, y and z cut. v lies on spectral(), whose axes are z, x, y in this order (z fastest):
/// z whole, x and y cut; or as u where FftOptions::transposed is false. Arrays are packed: no ghosts, rows without
/// gaps. Sizes may be any; a device that gets nothing holds no block. Lines on a device are transformed by FFTW on the
/// host and by cuFFT, or by kernels of its own that store their results, and whatever moves between devices moves by
/// Transposes. The same decomposition gives the same bits.
///
/// One object may be used by one host thread at a time. Construction, use and end are collective. Ranks compare their
/// calls, unless these are recorded: the first forward, backward and convolve each, and every convolution by an
/// FftFactor. An argument that one rank refuses is an Error on all ranks; a rank that does not come is a Timeout.
/// Calls run after one another, whatever streams they come on.
class Fft {
 public:
  /// Throws Error where an extent is below 1, the process grid does not have as many places as there are devices or is
  /// both given and to be measured, the type has no Fourier transform, the library for it is missing, a device has no
  /// room for the plan (with the largest transform that fits), or the transforms are wrong where FftOptions::verify
  /// asks.
  Fft(const Communicator& comm, const Machine& machine, const Extent& cells, FftOptions options = {});
  ~Fft();
  Fft(Fft&&) noexcept;

  /// Bytes of each device of the machine, without allocating anything.
  static std::vector<FftMemory> memory(const Machine& machine, const Extent& cells, const FftOptions& options = {});
  /// Messages of all ranks in one transform of one component, on a machine that is described, too: nothing is
  /// allocated, and nobody is asked: gpu_mpi is believed in, of which an exchange wants a proof.
  static std::vector<MessageInfo> messages(const Machine& machine, const Extent& cells, const FftOptions& options,
                                           bool forward);

  const Extent& cells() const;
  const std::array<int, 2>& process_grid() const;
  const FftProcessGrids& process_grids() const;
  const Grid& physical() const;
  const Grid& spectral() const;
  /// The axis of the modes (0: k_x) along each axis of spectral().
  const std::array<int, 3>& spectral_axes() const;
  /// For a Field on either grid, of any number of components.
  FieldOptions physical_field(const std::string& name) const;
  FieldOptions spectral_field(const std::string& name) const;

  /// One component, by its arrays on this rank: of the blocks physical().local() and spectral().local(). streams[i] is
  /// a stream on the i-th device of this rank. Work is queued; the host waits only where a route of the exchange needs
  /// it.
  void forward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams);
  void backward(const std::vector<const void*>& from, const std::vector<void*>& to, std::vector<Stream>& streams);
  /// Several components, from[c] and to[c] as above: a batch. Throws Error where arrays overlap that may not: to[c]
  /// with from[c] beyond a common beginning, with what a later component is still to be read from, with the `to` of
  /// another, or with an array of another device.
  void forward_components(const std::vector<std::vector<const void*>>& from, const std::vector<std::vector<void*>>& to,
                          std::vector<Stream>& streams);
  void backward_components(const std::vector<std::vector<const void*>>& from, const std::vector<std::vector<void*>>& to,
                           std::vector<Stream>& streams);
  /// All components of fields. Throws Error where a field lies elsewhere, is not packed or holds
  /// another type.
  void forward(const Field& from, Field& to, std::vector<Stream>& streams);
  void backward(const Field& from, Field& to, std::vector<Stream>& streams);

  /// forward(), an operation on the modes, backward(): to = the inverse transform of factor times that of `from`, in
  /// the memory of `through`, arrays as forward() fills, whose values are of no use afterwards. `through` may begin
  /// where `from` or `to` does, as forward() and backward() allow. Modes that are not used (FftOptions::highest) become
  /// zero. The operation and the division by the number of cells take no pass of their own where lines along z are read
  /// by the plan's own kernels, or left by FFTW, or where a spectrum in the order x, y, z is copied: describe() says.
  /// Throws Error where a factor cannot be, has other numbers on another rank, or its arrays lie in what is written.
  void convolve(const std::vector<const void*>& from, const std::vector<void*>& through, const std::vector<void*>& to,
                const FftFactor& factor, std::vector<Stream>& streams);
  void convolve(const Field& from, Field& through, Field& to, const FftFactor& factor, std::vector<Stream>& streams);
  /// By operations of one's own (slipstream/fft/operations.hpp), one for each local block of spectral(), given
  /// backward_factor(). Kept until the work has run.
  using Operations = std::vector<std::shared_ptr<const fft::Pointwise>>;
  void convolve(const Field& from, Field& through, Field& to, const Operations& operations,
                std::vector<Stream>& streams);
  void convolve_components(const std::vector<std::vector<const void*>>& from,
                           const std::vector<std::vector<void*>>& through, const std::vector<std::vector<void*>>& to,
                           const Operations& operations, std::vector<Stream>& streams);
  void convolve_components(const std::vector<std::vector<const void*>>& from,
                           const std::vector<std::vector<void*>>& through, const std::vector<std::vector<void*>>& to,
                           const FftFactor& factor, std::vector<Stream>& streams);
  /// The operations of a factor.
  Operations operations(const FftFactor& factor) const;
  fft::ModeBlock mode_block(std::int64_t block) const;
  /// That backward() multiplies by, and operations must in its place: 1 / cells, or 1 without FftOptions::scaled.
  double backward_factor() const;
  /// The steps of a transform each way, and where convolve() does an operation: of a factor, or of these.
  std::string describe() const;
  std::string describe(const Operations& operations) const;

  /// Throws Timeout where a wait for another device gave up. Call it when the streams have been synchronized.
  void check();
  /// True where transforms may be recorded into a graph of the caller's streams and replayed.
  bool capturable() const;
  /// Bytes that the plan holds on a device of this rank.
  std::int64_t bytes_on(Device device) const;
  /// Bytes that came from this rank's host memory and went back since the plan was made (FftOptions::device_memory).
  std::int64_t host_bytes_moved() const;
  /// Moves of one forward transform whose values are stored by the transform before them (FftOptions::store), and all.
  std::pair<int, int> stored_moves() const;
  /// The moves of one transform that the engine packs, by themselves, on whatever the plan's own arrays hold: to time
  /// them. Returns the bytes that they send from this rank's devices to others; 0 where lines store all. Collective.
  std::int64_t run_packed_moves(bool forward, std::vector<Stream>& streams);
  /// Messages of one forward transform that leave or reach this rank's devices.
  std::vector<MessageInfo> messages() const;
  /// Those of all ranks with the times of the last forward transform, transpose by transpose (Exchange::report). Waits.
  /// Collective.
  std::vector<ReportRow> report();
  /// What was found for the transposes of all transforms together: `options` of the first of them, the sum of seconds,
  /// "measured" where one was.
  const Tuning& tuning() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
