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

/// Krylov methods. They do not depend on a discretisation: vectors are values on devices, cut into blocks for sums.
namespace slipstream::krylov {

/// Vectors of a linear solver: pointers to their values, one for each device of this rank.
using Vectors = std::vector<double*>;
using Values = std::vector<const double*>;

/// Largest number of components of one solve.
inline constexpr int most_components = 8;

struct Layout {
  std::vector<std::int64_t> points;       ///< number of points of each device of this rank, for one component
  std::vector<std::int64_t> first_block;  ///< number of each device's first block among the blocks of all devices
  std::int64_t block = 1;                 ///< number of points in a block; the last block of a device may be shorter
  /// Memory of the caller for the search direction p, to which the operator A is applied. It serves operators that need
  /// ghosts among the values. A p is 0 where the operator writes nothing. None: the solver allocates the memory.
  Vectors directions = {};
  /// Component c of a vector begins after c times a device's points. Weights and diagonals have one component, for all.
  int components = 1;
};

/// Conjugate gradients need symmetric positive systems and preconditioners; flexible GMRES takes any.
enum class Method : std::uint8_t { conjugate_gradients, flexible_gmres };

struct Options {
  /// A solve ends where sqrt((r, r)) is at most the larger of tolerance sqrt((b, b)) and absolute_tolerance.
  double tolerance = 1e-10;
  double absolute_tolerance = 0;
  int most_iterations = 1000;
  bool from_zero = false;  ///< whether to set x to zero first, which saves the first operator
  /// Scales x by (x, b) / (x, A x) first, which gives the least error of all multiples (Fischer 1998, Comput. Methods
  /// Appl. Mech. Eng. 163, with one vector). x must be 0 where it is fixed.
  bool fit_guess = false;
  bool must_converge = true;  ///< whether to throw Error without convergence; false: the result says so
  bool null_space = false;    ///< A 1 = 0: (1, b) must be zero, and x has the mean zero
  double imbalance = 1e-6;    ///< with null_space: the largest |(1, b)| / sqrt((1, 1) (b, b)) that is accepted
  std::string field = {};     ///< name of the unknown, for error messages
  std::vector<std::string> components = {};  ///< names of several components in error messages; none: their numbers
  std::string hard = {};   ///< text for error messages: why the system is hard to solve, and what to do about it
  Trace* trace = nullptr;  ///< timeline that records sums, passes over vectors and the host's reads
};

struct Result {
  int iterations = 0;  ///< number of iterations; the solve ends on the first residual that is small enough
  bool converged = false;
  /// whether the solve converged while rounding keeps the true residual over ten times the tolerance
  bool rounded = false;
  double imbalance = 0;  ///< imbalance |(1, b)| / sqrt((1, 1) (b, b)) of the right side, with null_space
  /// relative residual of the recurrence, sqrt((r, r) / (b, b)); if b = 0, relative to the first (r, r)
  double reported = 0;
  double true_residual = 0;     ///< relative residual of b - A x
  std::vector<double> history;  ///< residuals of the recurrence: the first one, then one an iteration
};

/// Counts of the solves so far, and the result of the last one.
struct Effort {
  std::int64_t solutions = 0, iterations = 0, unconverged = 0, rounded = 0;
  Result last;
  void add(Result result);
};

/// A preconditioner P: queues z = P r on the streams. All copies of r are equal, and so must all copies of z be. z must
/// be zero where the solution x is fixed.
using Precondition = std::function<void(const Vectors& r, const Vectors& z)>;

/// The linear system A x = b. A is symmetric and positive in the inner product
///
///     (u, v) = sum of w_i u_i v_i,
///
/// where the weight w counts a point with several copies once, and is 0 where x is fixed. Copies of A x must be equal.
/// Where x is fixed, A x must be zero, or anything finite if the given inverse diagonal of A is zero there.
struct System {
  std::function<void(const Vectors& in, const Vectors& out)> apply;  ///< queues out = A in on the streams
  /// Queues out = A in, and stores the partial sums of (in, A in): of each device's blocks in their order, one
  /// component after the other. It is for operators that compute them on the way, which saves a pass. None: they are
  /// summed afterwards.
  std::function<void(const Vectors& in, const Vectors& out, const Vectors& parts)> apply_with_parts;
  /// Queues out = A x for the first guess x, where that is cheaper than `apply`. None: `apply` is used.
  std::function<void(const Vectors& out)> apply_to_guess;
  /// For conjugate gradients the preconditioner must be symmetric and positive in the inner product, up to rounding,
  /// such as that of single precision. Directions are orthogonalised as in flexible conjugate gradients. Flexible GMRES
  /// takes any preconditioner. None: the residual is multiplied by `inverse_diagonal`.
  Precondition precondition;
  /// Identifies the work that operator and preconditioner queue, by a number from new_recording(). While it stays, the
  /// work is the same, and solvers may replay iterations as graphs. 0: nothing is replayed.
  std::uint64_t recording = 0;
  Values weights;           ///< weights w of the inner product
  Values inverse_diagonal;  ///< inverse diagonal D of A
  Values measure;           ///< weights of the mean with null_space: sum of measure_i x_i over sum of measure_i
};

/// Returns a number, unique in this process, for System::recording: it identifies work that graphs may replay.
std::uint64_t new_recording();

/// Estimates of the extreme eigenvalues by Lanczos's method; they lie within the spectrum. Both are 0 where there is no
/// estimate.
struct Spectrum {
  double smallest = 0, largest = 0;
};

/// A system was not solved. The message has the unknown, the end of the residual history, and the likely cause.
class NotSolved : public Error {
 public:
  explicit NotSolved(const std::string& message, Facts facts = {})
      : Error(ErrorCode::not_converged, message, std::move(facts)) {}
};

/// Preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1). Coefficients stay on the
/// devices. With System::recording a repeated solve is one graph a device: the devices end it, and the host reads all
/// residuals at once. Otherwise the host reads the residual of each iteration. Sums go over blocks by BlockSums: bits
/// depend on the blocks, and not on devices, ranks or graphs.
///
/// Several components share the operator and the preconditioner. An iteration applies them to all components in one
/// call, and sums all their dot products at once. Each component has its own coefficients and ends on its own residual.
/// So its iterations and bits are those of a separate solve.
///
/// r and p are scaled by a power of two, from the largest value in b and in the first b - A x. So data times a power of
/// two give the same bits, scaled. That largest value must be within 2^-900 to 2^900, unless the first x is already
/// accurate enough.
class ConjugateGradients {
 public:
  /// The constructor is collective. Throws Error if vectors have no component, or more than the limit most_components.
  ConjugateGradients(const Communicator& comm, const Machine& machine, Layout layout);
  ~ConjugateGradients();  ///< collective: all ranks destroy the solver together
  ConjugateGradients(ConjugateGradients&&) noexcept;

  /// Collective. Starts from the given x, or from zero. Throws NotSolved on all ranks where it does not converge, with
  /// the end of the history. Also throws for a right side with a part in the null space, and for a matrix that is not
  /// positive. Values that are not finite or beyond the range are refused, too.
  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options = {});
  /// Solves for each component of the right side b. Errors name the component.
  std::vector<Result> solve_all(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
                                const Options& options = {});
  /// Estimates the spectrum of the matrix, preconditioned by the system's preconditioner or its inverse diagonal. Takes
  /// 12 Lanczos steps, by conjugate gradients on a random right-hand side. `reduction`: stops earlier where the product
  /// of residual and preconditioned residual has decreased by this factor. Collective.
  Spectrum spectrum(std::vector<Stream>& streams, const System& system, double reduction = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Restarted flexible GMRES (Saad 1993, SIAM J. Sci. Comput. 14), preconditioned from the right. In z_j = P v_j, P may
/// differ in each iteration, and nothing need be symmetric. Vectors are orthogonalised twice by classical Gram-Schmidt,
/// with one sum over all vectors each time. The residual is that of the least squares problem; after each restart and
/// at the end it is b - A x. The host reads one column of the Hessenberg matrix an iteration. Memory: 2 restart + 1
/// vectors. r is scaled as in ConjugateGradients.
class FlexibleGmres {
 public:
  /// Collective. Throws Error on all ranks for a restart that is not 1 to 63, and for several components.
  FlexibleGmres(const Communicator& comm, const Machine& machine, Layout layout, int restart);
  ~FlexibleGmres();  ///< collective: all ranks destroy the solver together
  FlexibleGmres(FlexibleGmres&&) noexcept;

  /// Solves the system A x = b by flexible GMRES with restarts. Arguments and result are those of ConjugateGradients.
  Result solve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x,
               const Options& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// z = p(D A) D r: Chebyshev iteration from zero, which damps the upper part of the spectrum (Saad 2003, algorithm
/// 12.1; Adams et al. 2003). It applies the operator degree - 1 times. As a System::precondition it is symmetric and
/// positive: more operators an iteration, fewer iterations and sums.
class ChebyshevPolynomial {
 public:
  /// Throws Error for a polynomial degree below 1.
  ChebyshevPolynomial(const Communicator& comm, const Machine& machine, const Layout& layout, int degree);
  /// Preconditions r by a Chebyshev polynomial of the operator. `largest`: greatest eigenvalue that spectrum() finds.
  void apply(std::vector<Stream>& streams, const System& system, double largest, const Vectors& r, const Vectors& z);

 private:
  int degree_;
  Layout layout_;
  std::vector<Buffer<double>> change_, image_;
};

/// Symmetry and cost of operator and preconditioner, measured with two random vectors. Symmetric ones have an asymmetry
/// of 0 up to rounding.
struct Fit {
  double operator_asymmetry = 0;        ///< asymmetry of A: |(u, A v) - (v, A u)| over sqrt((u, A u) (v, A v))
  double preconditioner_asymmetry = 0;  ///< asymmetry of the preconditioner P
  bool operator_positive = true;        ///< whether the operator A has (u, A u) > 0 for both random test vectors u
  bool preconditioner_positive = true;
  double operator_us = 0, preconditioner_us = 0;  ///< microseconds to apply operator or preconditioner; slowest rank
  double coarse_us = 0;  ///< microseconds of multigrid's coarsest problem in preconditioner_us, if measured; else 0
};
/// Measures symmetry and cost of a system's operator and preconditioner (else inverse diagonal). Collective; blocks.
Fit fit(const Communicator& comm, const Machine& machine, const Layout& layout, std::vector<Stream>& streams,
        const System& system);
/// Throws NotSolved where conjugate gradients cannot be used. Its fact "problem" is "pair" where the preconditioner is
/// unsuitable, and "indefinite" where the operator is.
void require_fit(const Fit& fit);

/// Projection onto the span of the last solutions of systems with one A, each less its first guess. The element of
/// least error in the norm of A is added to the first guess (Fischer 1998, Comput. Methods Appl. Mech. Eng. 163, with
/// vectors kept orthonormal in (u, A v)).
class Projection {
 public:
  /// Collective. Keeps the last `most` solutions of one component, 1 to 63, as vectors that span them. `memory`: by
  /// device, where the vectors lie one after the other, so that a caller may write them to a checkpoint. Empty: the
  /// object allocates it.
  Projection(const Communicator& comm, const Machine& machine, Layout layout, int most, const Vectors& memory = {});
  ~Projection();  ///< collective: all ranks destroy the projection together
  Projection(Projection&&) noexcept;

  /// Adds to the guess x of A x = b the least-error vector in the span of earlier solutions. Applies A. Collective.
  void improve(std::vector<Stream>& streams, const System& system, const Values& b, const Vectors& x);
  /// Adds the solution x, less the first guess of improve(), to the span of earlier solutions. A full span loses the
  /// oldest solution. Applies one operator. Collective.
  void keep(std::vector<Stream>& streams, const System& system, const Vectors& x);
  /// Empties the span of earlier solutions. Call this where the matrix A changes.
  void forget() { set_vectors(0); }
  /// Number of earlier solutions that form the span. A caller who fills `memory` sets this number, too.
  int vectors() const;
  void set_vectors(int count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream::krylov
