#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/fft.hpp>
#include <slipstream/solver.hpp>

namespace slipstream::dns {

/// Time schemes. rk2: Heun's scheme, as in Ravikumar, Appelhans & Yeung (OpenPOWER ADG workshop, 2018); rk4: the
/// classical one. Both integrate viscosity exactly.
enum class Scheme : std::uint8_t { rk2, rk4 };
Scheme scheme_from_string(const std::string& name);

/// Selects the modes that are kept, and how aliases of their products are treated.
enum class Dealiasing : std::uint8_t {
  two_thirds,  ///< keeps modes with 3 |k_a| < n_a: no product has an alias among these
  /// Keeps sum of (k_a / n_a)^2 < 2/9: no product has an alias along more than one axis (Patterson & Orszag 1971).
  /// Aliases along one axis stay.
  spherical,
  /// Keeps the same modes as `spherical`. Products are formed on a shifted grid, by half a cell more in every second
  /// stage. So aliases along one axis change their sign, and cancel to the order of the step (Rogallo 1981). The first
  /// shift of a step is a random number drawn from the step's number.
  phase_shift
};
Dealiasing dealiasing_from_string(const std::string& name);

struct Forcing {
  /// Forcing of the lowest modes of the flow. Kind `power` has a given energy input per time. Kind `energy` keeps the
  /// energy of the forced shells at its initial value. Kind `stochastic` accelerates modes at random.
  enum class Kind : std::uint8_t { power, energy, stochastic };
  Kind kind = Kind::power;
  double power = 0;  ///< energy input of the forcing per time and mass: the mean dissipation of a steady flow; 0: decay
  /// largest shell that is forced: |k| <= shells + 1/2, in units of the lowest wave number 2 pi / (longest edge)
  int shells = 2;
  /// Root mean square acceleration of the stochastic forcing. The real and the imaginary part of each component are
  /// Ornstein-Uhlenbeck processes with this standard deviation (Eswaran & Pope 1988). Values are constant during a
  /// step.
  double acceleration = 0;
  double correlation_time = 0;  ///< correlation time of the processes of stochastic forcing
  std::uint64_t seed = 1;

  bool acts() const { return kind != Kind::power || power > 0; }
};
Forcing::Kind forcing_from_string(const std::string& name);

/// A passive scalar with a mean gradient G: d theta / dt + u.grad theta = diffusivity lap theta - G.u. The mean
/// gradient's part is not in theta, whose mean stays constant.
struct Scalar {
  double schmidt = 1;  ///< viscosity / diffusivity: a Prandtl number where the scalar is heat
  std::array<double, 3> gradient{0, 0, 0};
};

struct Options {
  Extent cells{64, 64, 64};
  DType type = DType::f64;  ///< number format of the modes: f64 or f32
  double viscosity = 1.0 / 1600;
  double time_step = 0.01;
  /// Above 0: the Courant number of a step, with the velocity at its start, is at most this. time_step is then the
  /// longest step. 0: all steps are time_step.
  double courant = 0;
  /// Edges of the box along x, y, z.
  std::array<double, 3> lengths{2 * std::numbers::pi, 2 * std::numbers::pi, 2 * std::numbers::pi};
  Dealiasing dealiasing = Dealiasing::two_thirds;
  std::vector<Scalar> scalars = {};
  Scheme scheme = Scheme::rk4;
  Forcing forcing;
  /// Angular velocity of the frame. u is the velocity in the frame, on which the Coriolis force -2 rotation x u acts.
  std::array<double, 3> rotation{0, 0, 0};
  /// Courant number above which check_time_step() throws; 0: it never throws. Default: 1.3 for rk4, which is stable up
  /// to 1.35, and 0.5 for rk2. At 0.5, rk2 without viscosity amplifies the fastest modes by one seventh a step.
  std::optional<double> largest_courant = {};
  /// Computes the energy budget at every stage (Statistics::budget_error). Each stage then needs sums over all modes,
  /// which the host finishes.
  bool budget = false;
  std::array<int, 2> process_grid{0, 0};
  bool tune_process_grid = false;  ///< whether to choose the FFT process grid by measurement (see FftOptions)
  std::optional<bool> store = {};  ///< whether FFTs store results directly at their destinations (FftOptions::store)
  /// overlaps transforms of one component with transfers of the next (FftOptions::overlap)
  bool overlap = false;
  /// Coding of the transposes. A lossy one rounds the modes and the velocity each time that they travel
  /// (FftOptions::coding).
  Coding coding = {};
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< whether to measure the routes of the transposes, and how
  /// Device memory to use, in bytes of each device; 0: all that the flow needs. With a limit, its arrays lie in pinned
  /// memory of the host. Batches of their planes pass through this much device memory (slipstream/batches.hpp). The
  /// flow is the same to rounding, and its velocity has the same bits with any limit and on any number of devices. Only
  /// for slabs, raw values, and without an energy budget.
  std::int64_t device_memory = 0;
  RowCopies host_copies = RowCopies::measured;  ///< how rows of out-of-core batches are copied between host and device
  bool synchronous = false;                     ///< whether out-of-core batches run one after the other, for comparison
};

/// Statistics of one scalar theta, without its mean.
struct ScalarStatistics {
  double variance = 0;              ///< variance <theta^2>, a mean over the box
  double dissipation = 0;           ///< dissipation of the variance: 2 diffusivity <|grad theta|^2>
  std::array<double, 3> flux = {};  ///< mean flux <u theta>; d variance / dt = -2 gradient.flux - dissipation
  std::vector<double> spectrum;     ///< variance <theta^2> by shell of wave number |k|, as in the energy spectrum
};

/// Statistics of the fluctuation u = v - <v> at one time. v is the velocity, and <> is the mean over the box. A uniform
/// velocity added to the flow changes mean_velocity and courant only. Lengths are those of Options::lengths.
struct Statistics {
  double time = 0;
  double energy = 0;            ///< kinetic energy <u.u> / 2 per mass
  double dissipation = 0;       ///< dissipation rate: 2 nu sum over k of k^2 E(k)
  double enstrophy = 0;         ///< enstrophy <w.w> / 2, with w = curl u
  double power = 0;             ///< current power of the forcing; with Kind::energy its power in the last step
  double velocity = 0;          ///< root mean square of a component: sqrt(<u.u> / 3)
  double taylor_scale = 0;      ///< Taylor's microscale lambda, with lambda^2 = 15 nu velocity^2 / dissipation
  double taylor_reynolds = 0;   ///< Taylor-scale Reynolds number velocity lambda / nu
  double kolmogorov_scale = 0;  ///< Kolmogorov length eta = (nu^3 / dissipation)^(1/4)
  double largest_mode_eta = 0;  ///< resolution k_max eta, with the largest kept mode
  double courant = 0;           ///< Courant number: max over cells of sum over axes of |v_a| dt / dx_a
  double time_step = 0;         ///< length dt of the next step
  std::array<double, 3> mean_velocity = {};  ///< mean velocity <v>, constant in time
  /// L = pi / (2 velocity^2) sum over k of E(k) / k, the longitudinal integral scale of isotropic turbulence (Pope
  /// 2000, section 6.5). 0 where nothing fluctuates.
  double integral_scale = 0;
  /// normalised dissipation: dissipation L / velocity^3 (Sreenivasan 1998); 0 where nothing fluctuates
  double c_epsilon = 0;
  /// Skewness <g^3> / <g^2>^(3/2) and flatness <g^4> / <g^2>^2 of g = d u_a / d x_a, averaged over the axes a. A
  /// Gaussian g has 0 and 3. Turbulence of moderate Reynolds number has about -0.5 and 4 (Van Atta & Antonia 1980). A
  /// fluid at rest has 0.
  ///
  /// They are means over the cells, where fourth powers have aliases.
  double skewness = 0, flatness = 0;
  /// Largest error of the energy budget of a step since the field was set: |dE + lost - work| / lost. NaN without
  /// Options::budget. dE is the change of energy, `lost` the energy that viscosity dissipates, and `work` that of the
  /// forcing, each of the step. The scheme's own quadrature integrates `lost` and `work`. Where nothing is lost the
  /// error is relative to the energy.
  double budget_error = 0;
  /// Energy spectrum E(k) by shells k - 1/2 <= |k| < k + 1/2. The unit of |k| is the lowest wave number, 2 pi /
  /// (longest edge). The sum is the energy; shell 0, which holds the mean, counts as empty.
  std::vector<double> spectrum;
  std::vector<ScalarStatistics> scalars;
};

/// Energy transfer between wave-number shells by the nonlinear term u x w, with the vorticity w.
struct Transfer {
  /// energy gain T of each shell per time: sum over its modes of Re(conj(u_k).(u x w)_k)
  std::vector<double> transfer;
  std::vector<double> flux;  ///< energy flux from the wave-number shells up to each one to all higher shells
};

/// State of a run besides the modes. A run continues with the same bits where both are restored.
struct Carried {
  /// energy that Forcing::Kind::energy keeps in its shells; none: their current energy
  std::optional<double> held = {};
  double put_in = 0;         ///< energy input of Kind::energy in the last step
  double largest_error = 0;  ///< error of the energy budget, Statistics::budget_error
  double time_step = 0;      ///< length of the last step; 0: there was none
  /// Values of a stochastic forcing in the next step, six numbers a mode. Empty: none were drawn.
  std::vector<double> accelerations = {};
};

/// Incompressible flow in a periodic box by Fourier modes (Rogallo 1981).
///
/// With u(x) = sum over k of u_k exp(i k.x), the modes obey
///
///     d u_k / dt = P_k (u x w)_k - nu k^2 u_k + f_k,    P_k a = a - k (k.a) / k^2,    w = curl u,
///
/// where u x w is formed in physical space. Options::dealiasing selects the modes that are kept. With 3 |k_a| < n_a
/// none of them is an alias of a product (2/3 rule). The forcing is f_k = power / (2 E_f) u_k on the modes of the
/// lowest shells, whose energy is E_f. Its power is `power`, with E_f at the start of a step. With Kind::energy, the
/// modes of these shells are rescaled after each step to the energy that they had. Only the initial field, a stochastic
/// forcing and shifts of the grid are random; their numbers come from counters.
///
/// A step of rk4 has 36 transforms, one of rk2 18, and 16 or 8 more for each scalar. The energy balance is d energy /
/// dt = power - dissipation. The same decomposition gives the same bits. All calls are collective, except those that
/// say otherwise. advance() does not compare the time step with the velocity: check_time_step() does.
class Dns final : public Solver {
 public:
  /// Throws Error for a number of cells, type, viscosity or time step that is not allowed.
  Dns(const Communicator& comm, const Machine& machine, Options options);

  /// Sets u = (sin x cos y cos z, -cos x sin y cos z, 0), of energy 1/8 (Taylor & Green 1937).
  void taylor_green();
  /// Sets solenoidal modes of random phases and directions, the same on any number of ranks. Shell k has exactly the
  /// energy spectrum[k], distributed evenly over its modes. Shells beyond the end, and k = 0, have none. Throws Error
  /// for a negative value, and for a value other than zero of a shell that this grid does not have.
  void random(const std::vector<double>& spectrum, std::uint64_t seed);
  /// Sets u from values on each local block of fft().physical(), as [z][y][x][component]. Its divergence and the
  /// truncated modes are removed. The mean velocity stays.
  void begin(const std::vector<const double*>& velocity);
  /// Sets the scalars from values on each local block of fft().physical(), as [z][y][x][scalar]. Truncated modes are
  /// removed. Without this call the scalars start at zero.
  void begin_scalars(const std::vector<const double*>& values);

  /// Throws Error where the shells of the forcing have no energy now. A step would throw the same.
  void check_forcing();
  /// Throws Error where the Courant number of the current velocity is above largest_courant. Costs three transforms,
  /// unless velocity() or statistics() have made them.
  void check_time_step();
  /// Makes steps check the velocity of their last stage for values out of range, as `options` asks, without a
  /// transform. Errors give the coordinates of bad points, which do not depend on `options.spacing`.
  void guard(GuardOptions options) override;
  /// Inspects the velocity now, and throws Diverged; does nothing without a guard.
  void inspect() override;

  Statistics statistics();
  int shells() const;  ///< number of shells of Statistics::spectrum, with shell 0; not collective
  /// Computes the transfer of kinetic energy between wave numbers. It costs the transforms of one right-hand side, or
  /// two with Dealiasing::phase_shift: their grids are half a cell apart, so that aliasing errors cancel.
  Transfer transfer();
  /// The velocity u on the devices, three components. Valid until the next step.
  Field& velocity();
  /// Returns a field by name: `velocity` in physical space, or a field of the state. The latter has Fourier modes of
  /// the velocity, then of the scalars, with axes z, x, y as Fft::spectral. Setting modes, time and steps restarts the
  /// run from them; call carry() after that to set its other state, such as that of the forcing.
  Field& field(const std::string& name) override;
  Carried carried() const;        ///< returns what a restart needs besides the modes (Carried); not collective
  void carry(const Carried& of);  ///< sets all state but Fourier modes at a restart, equal on all ranks; not collective
  void finish_step() override;
  std::vector<Watched> watched() override;
  Recording recording() const override;  ///< no graph of steps where a forcing or the energy budget needs host sums
  std::vector<ReportRow> report() override { return fft().report(); }
  const Tuning& tuning() const override;
  const Grid& grid() const override;  ///< cells of the velocity in physical space, and the devices that hold them
  const Options& options() const;
  Fft& fft();
  /// Bytes that an out-of-core flow copied from and to host memory since construction (Options::device_memory).
  std::int64_t host_bytes_moved() const;
  /// Describes the out-of-core batches of planes as text; empty where arrays are on the device.
  std::string describe_batches() const;
  /// Bytes that the solver holds on a device of this rank.
  std::int64_t bytes_on(Device device) const;

 private:
  struct Impl;
  Impl* impl_;
};

/// Partitions the cells over devices of a real or described machine. Throws Error where options cannot make a run.
Grid plan_grid(const Machine& machine, const Options& options, int rank = 0);
/// Equal messages of a time step: each of `sources` devices sends one to each of `targets` devices. `one` describes the
/// message from the first source to the first target.
struct PlannedMessages {
  MessageInfo one;
  std::int64_t sources = 1, targets = 1;
};
/// Messages between devices in one time step. Messages between the same devices, by the same route and in the same
/// direction, count as one. The machine may be described by a file.
std::vector<PlannedMessages> messages_needed(const Machine& machine, const Options& options);
/// Memory that a run needs, by device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Machine& machine, const Options& options);
/// Bytes of host memory for the arrays of a flow with Options::device_memory, on the node with the most; 0 for others.
/// It includes the velocity in cells, which is allocated on first use.
std::int64_t host_memory_needed(const Machine& machine, const Options& options);
/// How the arrays of an out-of-core flow (Options::device_memory) are cut into batches on a device.
struct BatchPlan {
  std::int64_t buffer = 0;                  ///< bytes of the device buffer of one batch
  std::int64_t modes = 0;                   ///< number of modes along x in a batch; fewer than all if planes are split
  std::int64_t planes_y = 0, planes_z = 0;  ///< number of batches in one sweep over y-planes, and over z-planes
  int sweeps = 2;                           ///< passes over all planes in a Runge-Kutta stage; 4 if z-planes are split
  double fields = 0;  ///< kept modes that are copied in each direction between host and devices in a stage, in fields
};
BatchPlan batches_needed(const Machine& machine, const Options& options);
/// Memory traffic in bytes per cell and step. Each transform reads and writes its values three times. A stage moves 30
/// more of a component's numbers (rk4: 36 transforms and 120 moves).
int bytes_per_cell(const Options& options);

/// Shells 0 .. shells of a spectrum k^4 exp(-2 (k / peak)^2) with the given sum, a common initial spectrum of decaying
/// turbulence.
std::vector<double> peaked_spectrum(int shells, double peak, double energy);

}  // namespace slipstream::dns
