#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/fft.hpp>
#include <slipstream/simulation.hpp>

namespace slipstream::dns {

/// rk2: Heun's scheme, as in Ravikumar, Appelhans & Yeung (OpenPOWER ADG workshop, 2018); rk4: the classical one. Both
/// integrate viscosity exactly.
enum class Scheme : std::uint8_t { rk2, rk4 };
Scheme scheme_from_string(const std::string& name);

/// Modes that are kept, and what becomes of aliases of their products.
enum class Dealiasing : std::uint8_t {
  two_thirds,  ///< 3 |k_a| < n_a: no product has an alias among them
  /// sum of (k_a / n_a)^2 < 2/9: no product has an alias along more than one axis (Patterson & Orszag 1971). The others
  /// stay.
  spherical,
  /// The same modes. Products are formed on a shifted grid, by half a cell more in every second stage. So aliases along
  /// one axis change their sign, and cancel to the order of the step (Rogallo 1981). The first shift of a step is drawn
  /// from its number.
  phase_shift
};
Dealiasing dealiasing_from_string(const std::string& name);

struct Forcing {
  /// The power that it puts in is given; or the energy of its shells stays what it was at the beginning; or modes are
  /// accelerated at random.
  enum class Kind : std::uint8_t { power, energy, stochastic };
  Kind kind = Kind::power;
  double power = 0;  ///< energy a time and mass that it puts in, 0: decaying; the mean dissipation that it leads to
  int shells = 2;    ///< of |k| <= shells + 1/2, in units of the lowest wave number 2 pi / (longest edge)
  /// A stochastic forcing accelerates modes. The real and the imaginary part of each component are Ornstein-Uhlenbeck
  /// processes (Eswaran & Pope 1988). This is the root of their variance. A step holds its values.
  double acceleration = 0;
  double correlation_time = 0;  ///< of these processes
  std::uint64_t seed = 1;

  bool acts() const { return kind != Kind::power || power > 0; }
};
Forcing::Kind forcing_from_string(const std::string& name);

/// A passive scalar with a mean gradient G: d theta / dt + u.grad theta = diffusivity lap theta - G.u. The mean
/// gradient's share is no part of theta, and the mean of theta stays.
struct Scalar {
  double schmidt = 1;  ///< viscosity / diffusivity: a Prandtl number where the scalar is heat
  std::array<double, 3> gradient{0, 0, 0};
};

struct Options {
  Extent cells{64, 64, 64};
  DType type = DType::f64;  ///< or f32
  double viscosity = 1.0 / 1600;
  double time_step = 0.01;
  /// 0: all steps are time_step. Else a step has this Courant number with the velocity at its beginning, where
  /// time_step is not shorter.
  double courant = 0;
  /// Edges of the box along x, y, z.
  std::array<double, 3> lengths{2 * std::numbers::pi, 2 * std::numbers::pi, 2 * std::numbers::pi};
  Dealiasing dealiasing = Dealiasing::two_thirds;
  std::vector<Scalar> scalars = {};
  Scheme scheme = Scheme::rk4;
  Forcing forcing;
  /// Angular velocity of the frame: the Coriolis force -2 rotation x u acts, for u is the velocity in the frame.
  std::array<double, 3> rotation{0, 0, 0};
  /// check_time_step() refuses more; 0: never. None: 1.3 for rk4, which is stable up to 1.35, and 0.5 for rk2, whose
  /// fastest modes grow by the seventh part a step there, without viscosity.
  std::optional<double> largest_courant = {};
  /// Account for what goes in and out at every stage (Statistics::budget_error). Takes sums over all modes at each,
  /// which the host adds up.
  bool budget = false;
  std::array<int, 2> process_grid{0, 0};
  bool tune_process_grid = false;  ///< FftOptions::tune_process_grid
  std::optional<bool> store = {};  ///< FftOptions::store
  bool overlap = false;            ///< transforms of one component with the way of the next (FftOptions::overlap)
  /// Of transposes. A lossy one rounds the modes and the velocity each time that they travel (FftOptions::coding).
  Coding coding = {};
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< measure the routes of the transposes
  /// Bytes of each device, 0: all that the flow takes. With a number its arrays lie in pinned memory of the host, and
  /// batches of their planes pass through so much memory of the devices (slipstream/batches.hpp). The flow is the same
  /// to rounding, and its velocity has the same bits with any number and on any number of devices. For slabs, raw
  /// values, without a budget of energy.
  std::int64_t device_memory = 0;
  RowCopies host_copies = RowCopies::measured;  ///< how rows of batches travel
  bool synchronous = false;                     ///< batches one after the other, to compare with
};

/// One scalar theta, without its mean.
struct ScalarStatistics {
  double variance = 0;              ///< <theta^2>
  double dissipation = 0;           ///< 2 diffusivity <|grad theta|^2>
  std::array<double, 3> flux = {};  ///< <u theta>; d variance / dt = -2 gradient.flux - dissipation
  std::vector<double> spectrum;     ///< of shells, as that of the energy; their sum is the variance
};

/// Statistics of the fluctuation u = v - <v> at one moment; <> is the mean over the box, v the velocity. A uniform
/// velocity added to the flow changes mean_velocity and courant alone. Lengths are those of Options::lengths.
struct Statistics {
  double time = 0;
  double energy = 0;            ///< <u.u> / 2
  double dissipation = 0;       ///< 2 nu sum over k of k^2 E(k)
  double enstrophy = 0;         ///< <w.w> / 2, w = curl u
  double power = 0;             ///< that the forcing puts in now; where it holds an energy, in the step before
  double velocity = 0;          ///< root of <u.u> / 3
  double taylor_scale = 0;      ///< lambda^2 = 15 nu velocity^2 / dissipation
  double taylor_reynolds = 0;   ///< velocity lambda / nu
  double kolmogorov_scale = 0;  ///< (nu^3 / dissipation)^(1/4)
  double largest_mode_eta = 0;  ///< k_max eta
  double courant = 0;           ///< max over cells of sum over axes of |v_a| dt / dx_a
  double time_step = 0;         ///< dt of the next step
  std::array<double, 3> mean_velocity = {};  ///< <v>, which no step changes
  /// L = pi / (2 velocity^2) sum over k of E(k) / k, the longitudinal integral scale of isotropic turbulence (Pope
  /// 2000, section 6.5). 0 where nothing fluctuates.
  double integral_scale = 0;
  double c_epsilon = 0;  ///< dissipation L / velocity^3 (Sreenivasan 1998). 0 where nothing fluctuates.
  /// <g^3> / <g^2>^(3/2) and <g^4> / <g^2>^2 of g = d u_a / d x_a, means over the axes a: 0 and 3 where g is Gaussian,
  /// about -0.5 and 4 in turbulence of moderate Reynolds number (Van Atta & Antonia 1980). 0 where nothing moves.
  /// They are means over the cells, where fourth powers have aliases.
  double skewness = 0, flatness = 0;
  /// With Options::budget: the largest |dE + lost - work| / lost of a step since the field was set, where dE is the
  /// change of energy, and what is lost to viscosity and the work of the forcing, by the factor that it holds for the
  /// step, are integrated by the scheme's own quadrature. Where nothing is lost it is relative to the energy.
  /// NaN without.
  double budget_error = 0;
  /// E(k) of shells k - 1/2 <= |k| < k + 1/2, where |k| counts lowest wave numbers 2 pi / (longest edge). Their sum is
  /// the energy, for shell 0, the mean's, counts as empty.
  std::vector<double> spectrum;
  std::vector<ScalarStatistics> scalars;
};

/// How the product u x w moves energy between the shells of Statistics::spectrum.
struct Transfer {
  std::vector<double> transfer;  ///< T: energy a time that a shell gets, sum over its modes of Re(conj(u_k).(u x w)_k)
  std::vector<double> flux;      ///< Pi: what passes to shells above this one, minus the sum of T up to it
};

/// Numbers that a step takes from the steps before it, beside the modes. A run goes on with its bits where both are
/// set.
struct Carried {
  std::optional<double> held = {};  ///< energy of the shells that Forcing::Kind::energy holds; none: that of the modes
  double put_in = 0;                ///< energy that this forcing put in, in the last step
  double largest_error = 0;         ///< Statistics::budget_error
  double time_step = 0;             ///< of the last step; 0: there was none
  /// Values of a stochastic forcing in the next step, six numbers a mode. Empty: none was drawn.
  std::vector<double> accelerations = {};
};

/// Incompressible flow in a periodic box by Fourier modes (Rogallo 1981).
///
/// With u(x) = sum over k of u_k exp(i k.x), the modes obey
///
///     d u_k / dt = P_k (u x w)_k - nu k^2 u_k + f_k,    P_k a = a - k (k.a) / k^2,    w = curl u,
///
/// where u x w is formed in physical space. Options::dealiasing says which modes are kept, with 3 |k_a| < n_a none of
/// them is an alias of a product (2/3 rule). The forcing is f_k = power / (2 E_f) u_k on the modes of the lowest
/// shells, whose energy is E_f. It puts in `power`, by what E_f is at the beginning of a step. Or the modes of these
/// shells are multiplied, behind each step, by what gives them the energy back that they had. Nothing is random but the
/// initial field, a stochastic forcing and shifts of the grid, whose numbers come from counters.
///
/// A step of rk4 has 36 transforms, one of rk2 18, and 16 or 8 more for each scalar. Energy balances by d energy / dt =
/// power - dissipation. The same decomposition gives the same bits. All calls but those that say otherwise are
/// collective.
class Dns final : public Simulation {
 public:
  /// Throws Error where a number of cells, the type, viscosity or time step cannot be.
  Dns(const Communicator& comm, const Machine& machine, Options options);
  ~Dns() override;

  /// u = (sin x cos y cos z, -cos x sin y cos z, 0), of energy 1/8 (Taylor & Green 1937).
  void taylor_green();
  /// Solenoidal modes of random phases and directions, the same on any number of ranks: shell k has the energy
  /// spectrum[k] exactly, spread evenly over its modes. Shells behind the end, and k = 0, have none. Throws Error where
  /// a value is negative or one that is not zero belongs to a shell that this grid does not have.
  void random(const std::vector<double>& spectrum, std::uint64_t seed);
  /// u of each local block of fft().physical(), as [z][y][x][component]; without what diverges, and what truncation
  /// leaves out. The mean velocity stays.
  void begin(const std::vector<const double*>& velocity);
  /// Scalars of each local block of fft().physical(), as [z][y][x][scalar]; without what truncation leaves out. Other
  /// initial fields leave them zero.
  void begin_scalars(const std::vector<const double*>& values);

  /// Throws Error where a forcing finds no energy in its shells now, which a step would do, too.
  void check_forcing();
  /// Throws Error where the Courant number of the velocity now is above largest_courant. Takes three transforms, unless
  /// velocity() or statistics() have had them.
  void check_time_step();
  /// From now on the velocity is inspected every so many steps: that of the step's last stage, which is there already.
  void guard(std::int64_t every);
  /// Inspects the velocity now, and throws Diverged; does nothing without a guard.
  void inspect();
  /// Advances by `steps` time steps. Throws what a wait for another device says that gave up; Diverged where a guard
  /// finds what is no number. How the time step stands to the velocity is not looked at: check_time_step() does.
  void step(std::int64_t steps);

  Statistics statistics();
  int shells() const;  ///< of Statistics::spectrum, with shell 0; not collective
  /// Takes the transforms of a right-hand side, with Dealiasing::phase_shift of two, whose aliases cancel.
  Transfer transfer();
  /// u, on the devices: three components. Not to be changed; holds until the next step.
  const Field& velocity();
  /// Modes (z, x, y in the order of Fft::spectral) of the velocity, then of the scalars, time and steps. Setting modes
  /// and time restarts from them; what carry() sets then, is set behind them.
  State& state() override;
  Carried carried() const;        ///< not collective
  void carry(const Carried& of);  ///< not collective, but the same on all ranks
  const std::vector<Device>& devices() const override;
  const Tasks& tasks() const override;
  void finish_step() override;
  std::vector<Watched> watched() override;
  Recording recording() const override;  ///< none where a forcing or a budget asks the host for sums
  TimeLoop& time_loop();
  const Communicator& communicator() const;
  const Options& options() const;
  Fft& fft();
  /// Bytes that came from host memory and went back since the flow was made (Options::device_memory).
  std::int64_t host_bytes_moved() const;
  /// How batches pass; empty where arrays are on the device.
  std::string describe_batches() const;
  /// Bytes that the solver holds on a device of this rank.
  std::int64_t bytes_on(Device device) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How the cells are cut; on a machine that is described, too. Throws Error where options cannot make a run.
Grid plan_grid(const Machine& machine, const Options& options, int rank = 0);
/// Messages of a step: so many sources have such a message, each for so many targets; `one` names the first of both.
struct PlannedMessages {
  MessageInfo one;
  std::int64_t sources = 1, targets = 1;
};
/// Of one step, messages between the same devices by the same route and way together; on a machine that is described,
/// too.
std::vector<PlannedMessages> messages_needed(const Machine& machine, const Options& options);
/// By device; computed without allocating.
std::vector<ArrayBytes> memory_needed(const Machine& machine, const Options& options);
/// Bytes of host memory that the arrays of a flow with Options::device_memory take, on the node with the most; 0 for
/// others. The velocity in cells is counted, and made when it is asked for.
std::int64_t host_memory_needed(const Machine& machine, const Options& options);
/// How a flow with Options::device_memory passes a device.
struct BatchPlan {
  std::int64_t buffer = 0;                  ///< bytes
  std::int64_t modes = 0;                   ///< along x, of a piece of a plane
  std::int64_t planes_y = 0, planes_z = 0;  ///< batches of a sweep
  int sweeps = 2;                           ///< of a stage; 4 where planes z are cut
  double fields = 0;  ///< kept modes that go each way between host and devices in a stage, in fields
};
BatchPlan batches_needed(const Machine& machine, const Options& options);
/// Bytes a cell and step: each transform reads and writes its values three times, and a stage moves 30 more of a
/// component's numbers (rk4: 36 transforms and 120 moves).
int bytes_per_cell(const Options& options);

/// Shells 0 .. shells of a spectrum k^4 exp(-2 (k / peak)^2) with the given sum: what decaying turbulence is often
/// begun from.
std::vector<double> peaked_spectrum(int shells, double peak, double energy);

}  // namespace slipstream::dns
