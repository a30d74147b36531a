#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/trace.hpp>

/// Krylov methods. They know no element and no stencil: vectors are values on devices, cut into blocks of sums.
namespace slipstream::krylov {

/// Values of this rank's devices, one pointer each.
using Vectors = std::vector<double*>;
using Values = std::vector<const double*>;

/// Components that one solve may have.
inline constexpr int most_components = 8;

struct Layout {
  std::vector<std::int64_t> points;       ///< of each device of this rank, of a component
  std::vector<std::int64_t> first_block;  ///< number of its first block among those of all devices
  std::int64_t block = 1;                 ///< points of a block; the last of a device may be shorter
  /// Memory of the caller for the direction of search, which the operator is applied to: for operators that want ghosts
  /// among the values. Where the operator writes nothing, its image is then 0. None: it is made.
  Vectors directions = {};
  /// Component c of a vector lies behind c times a device's points. Weights and diagonals have one, for all.
  int components = 1;
};

/// Conjugate gradients are for symmetric and positive systems and preconditioners; flexible GMRES takes any.
enum class Method : std::uint8_t { conjugate_gradients, flexible_gmres };
/// "cg" or "fgmres". Throws Error: no such name.
Method method_from_string(const std::string& name);

struct Options {
  /// A solve ends where sqrt((r, r)) is at most the larger of tolerance sqrt((b, b)) and absolute_tolerance.
  double tolerance = 1e-10;
  double absolute_tolerance = 0;
  int most_iterations = 1000;
  bool from_zero = false;  ///< sets x to zero first, which spares the first operator
  /// Multiplies x by (x, b) / (x, A x) first, which leaves the least error of all multiples (Fischer 1998, Comput.
  /// Methods Appl. Mech. Eng. 163, with one vector). x must be 0 where it is fixed.
  bool fit_guess = false;
  bool must_converge = true;  ///< throws Error where it does not; else the result says so
  bool null_space = false;    ///< A 1 = 0: (1, b) must be zero, and x gets the mean zero
  double imbalance = 1e-6;    ///< with null_space: the greatest |(1, b)| / sqrt((1, 1) (b, b)) that passes
  std::string field = {};     ///< the unknown's name, for messages
  std::vector<std::string> components = {};  ///< names of several components; none: their numbers
  std::string hard = {};  ///< for messages: what makes such a system hard to solve, and what to do about it
  /// For comparison: the host waits for the parts of each sum, adds them up, and all ranks' by MPI, and hands back the
  /// result. The bits then depend on the ranks.
  bool sums_on_host = false;
  Trace* trace = nullptr;  ///< records sums, passes over vectors and the host's looks
};

struct Result {
  int iterations = 0;  ///< those made: the solve ends on the first residual that is small enough
  bool converged = false;
  bool rounded = false;         ///< it has converged, but the true residual is over ten times the tolerance: rounding
  double imbalance = 0;         ///< with null_space: |(1, b)| / sqrt((1, 1) (b, b))
  double reported = 0;          ///< sqrt((r, r) / (b, b)) of the recurrence; b = 0: over the first (r, r)
  double true_residual = 0;     ///< the same of b - A x
  std::vector<double> history;  ///< of the recurrence: the start, then one residual an iteration
};

/// What the solutions so far have taken.
struct Effort {
  std::int64_t solutions = 0, iterations = 0, unconverged = 0, rounded = 0;
  Result last;
  void add(Result result);
};

/// Queues z = P r on the streams: r is alike in all copies, and so must z be, and zero where x is fixed.
using Precondition = std::function<void(const Vectors& r, const Vectors& z)>;

/// What is solved: A x = b, A symmetric and positive in the inner product
///
///     (u, v) = sum of w_i u_i v_i,
///
/// where w counts a value kept in several places once, and is 0 where x is fixed. A's image must be equal in all
/// copies, and where x is fixed zero, or anything finite if D is zero there.
struct System {
  std::function<void(const Vectors& in, const Vectors& out)> apply;  ///< queues out = A in on the streams
  /// The same, and leaves the parts of (in, A in): of each device's blocks in their order, one component after the
  /// other. It is for operators that find them as they go, which spares a pass. None: they are summed afterwards.
  std::function<void(const Vectors& in, const Vectors& out, const Vectors& parts)> apply_with_parts;
  /// Queues out = A x for the x that a solve starts from, where that takes less than `apply`. None: it is applied.
  std::function<void(const Vectors& out)> apply_to_guess;
  /// For conjugate gradients symmetric and positive in (u, v) but for rounding, as in single precision: directions are
  /// made conjugate as flexible conjugate gradients make them. For flexible GMRES any. None: z = D r.
  Precondition precondition;
  /// Not 0: apply and precondition queue the same work while this number stays, and graphs may repeat it within
  /// themselves. It comes from new_recording(). Iterations are then replayed; those of conjugate gradients end on the
  /// devices.
  std::uint64_t recording = 0;
  Values weights;           ///< w
  Values inverse_diagonal;  ///< D
  Values measure;           ///< with null_space: the mean of x is sum of measure_i x_i over that of measure_i
};

/// A number that no other call of this process gives.
std::uint64_t new_recording();

/// The ends of a spectrum, as Lanczos's method has seen them: from within, and nearly. 0 and 0: there is nothing to
/// see.
struct Spectrum {
  double smallest = 0, largest = 0;
};

/// A system that was not solved: the message has the unknown, the end of the residual history, and the likely cause.
class NotSolved : public Error {
 public:
  explicit NotSolved(const std::string& message, Facts facts = {})
      : Error(ErrorCode::not_converged, message, std::move(facts)) {}
};

/// Preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1). Coefficients stay on the
/// devices. With System::recording a solve that comes again is one graph a device: the devices end it, and the host
/// reads all residuals at once. Elsewhere the host reads the residual of each iteration. Sums go over blocks by
/// BlockSums: bits depend on the blocks, and not on devices, ranks or graphs.
///
/// Several components have one operator and one preconditioner: an iteration applies them to all, in one call, and
/// makes one sum of all their dot products. Each has coefficients of its own and ends on its own residual. So its
/// iterations and bits are those of a solve by itself.
///
/// r and p are scaled by a power of two, from the largest value in b and in the first b - A x. So data times a power of
/// two give the same bits, scaled. That value must be within 2^-900 to 2^900, unless the first x is good enough.
class ConjugateGradients {
 public:
  /// Collective. Throws Error: components that are not 1 to most_components.
  ConjugateGradients(const Communicator& comm, const Machine& machine, Layout layout);
  ~ConjugateGradients();  ///< collective
  ConjugateGradients(ConjugateGradients&&) noexcept;

  /// Collective. From x as it comes, or from zero. Throws NotSolved on all ranks: a right side that has a part in the
  /// null space, a matrix that is not positive, no convergence (with the end of the history). Values that are not
  /// finite or beyond the range are refused, too.
  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options = {});
  /// The same, of each component. Errors name the component.
  std::vector<Result> solve_all(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                                const Options& options = {});
  /// It finds that of D A, or of the preconditioner times A, by twelve steps of Lanczos's method from noise, which
  /// conjugate gradients contain. `reduction`: fewer, where (r, z) has fallen by that. Collective.
  Spectrum spectrum(std::vector<Stream>& streams, const System& system, double reduction = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Flexible GMRES, restarted (Saad 1993, SIAM J. Sci. Comput. 14), preconditioned from the right: z_j = P v_j may be
/// another P in each iteration, and nothing need be symmetric. Orthogonalised twice by classical Gram and Schmidt, with
/// one sum over all vectors each time. The residual is that of the least squares problem; after each restart and at the
/// end it is that of b - A x. The host reads one column of the Hessenberg matrix an iteration. Memory: 2 restart + 1
/// vectors. r is scaled as conjugate gradients scale it.
class FlexibleGmres {
 public:
  /// Collective. Throws Error on all ranks: a restart that is not 1 to 63, several components.
  FlexibleGmres(const Communicator& comm, const Machine& machine, Layout layout, int restart);
  ~FlexibleGmres();  ///< collective
  FlexibleGmres(FlexibleGmres&&) noexcept;

  /// As ConjugateGradients::solve.
  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// z = p(D A) D r: Chebyshev's iteration from zero, which damps the upper part of the spectrum (Saad 2003, algorithm
/// 12.1; Adams et al. 2003). It takes degree - 1 operators. It makes a System::precondition, symmetric and positive:
/// more operators an iteration, fewer iterations and sums.
class ChebyshevPolynomial {
 public:
  /// Throws Error: a degree below 1.
  ChebyshevPolynomial(const Communicator& comm, const Machine& machine, const Layout& layout, int degree);
  /// `largest`: the eigenvalue that ConjugateGradients::spectrum finds.
  void apply(std::vector<Stream>& streams, const System& system, double largest, const Vectors& r, const Vectors& z);

 private:
  int degree_;
  Layout layout_;
  std::vector<Buffer<double>> change_, image_;
};

/// Symmetry and cost of operator and preconditioner, measured with two vectors of noise. Symmetric ones have
/// asymmetries of 0 but for rounding.
struct Fit {
  double operator_asymmetry = 0;        ///< |(u, A v) - (v, A u)| over sqrt((u, A u) (v, A v))
  double preconditioner_asymmetry = 0;  ///< the same of P
  bool operator_positive = true;        ///< (u, A u) > 0 for both
  bool preconditioner_positive = true;
  double operator_us = 0, preconditioner_us = 0;  ///< of one application, by the clock of the slowest rank
  double coarse_us = 0;  ///< of the latter, by its coarsest problem, where a caller measures it; 0: there is none
};
/// Collective; waits. Without System::precondition, P is the inverse diagonal.
Fit fit(const Communicator& comm, const Machine& machine, const Layout& layout, std::vector<Stream>& streams,
        const System& system);
/// Throws NotSolved where conjugate gradients may not be used: "problem" is "pair" where the preconditioner does not
/// fit, "indefinite" where the operator does not.
void require_fit(const Fit& fit);

/// The span of earlier solutions of systems with one A. Its element of least error in the norm of A is a first guess
/// (Fischer 1998, Comput. Methods Appl. Mech. Eng. 163, with vectors kept orthonormal in (u, A v)).
class Projection {
 public:
  /// Collective. Keeps so many vectors of one component, 1 to 63; the next one after these starts anew. `memory`: by
  /// device, where they lie one after the other, so that a caller may write them to a checkpoint; empty: in its own.
  Projection(const Communicator& comm, const Machine& machine, Layout layout, int most, const Vectors& memory = {});
  ~Projection();  ///< collective
  Projection(Projection&&) noexcept;

  /// x += the best element for b - A x. One operator. Collective.
  void improve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x);
  /// Takes in what a solve has added since improve(). One operator. Collective.
  void keep(std::vector<Stream>& streams, const System& system, const Vectors& x);
  /// Where A is another one.
  void forget() { set_vectors(0); }
  /// How many there are; a caller who sets `memory` sets them, too.
  int vectors() const;
  void set_vectors(int count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream::krylov
