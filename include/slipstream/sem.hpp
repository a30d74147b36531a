#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <slipstream/buffer.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/gather_scatter.hpp>
#include <slipstream/krylov.hpp>
#include <slipstream/machine.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/tuner.hpp>

/// Spectral elements: polynomials of order N on hexahedra, given by their values at the Gauss-Lobatto-Legendre (GLL)
/// points. These are the quadrature points, too.
///
/// Poisson's and Helmholtz's equations in the weak form: find u, zero on Dirichlet sides, such that for all such v
///
///     h1 int grad v . grad u dx  +  h2 int v u dx  =  int v f dx.
///
/// Fields are local to elements: (N+1)^3 values an element, i fastest. Each element has its own copy of points on
/// faces. With D the derivative matrix at the GLL points r, s, t of [-1, 1]^3 and w their weights, an element's
/// matrices are
///
///     A = (D_r D_s D_t)^T G (D_r D_s D_t),   G_ab = w_i w_j w_k |J| grad a . grad b,   a, b of r, s, t,
///     B = diag(w_i w_j w_k |J|),             H = h1 A + h2 B.
///
/// The linear system is M Q Q^T H u = M Q Q^T B f. Q gives each point the value of its id, Q^T sums the copies (see
/// GatherScatter), and M is zero at Dirichlet points (Constraint). Every u in it is continuous: u = Q Q^T W u, with W
/// one over the number of copies. So (u, v) = sum W u v counts each point of the domain once.
///
/// Source: Deville, Fischer, Mund, High-Order Methods for Incompressible Fluid Flow, 2002, chapters 2 and 4.
namespace slipstream::sem {

inline constexpr int least_order = 1, most_order = 15;
/// The highest polynomial order of Space::carry(), advect() and weak_divergence(), which flow solvers call. Above it
/// the tables in the kernel arguments of the first two exceed 4096 B.
inline constexpr int most_advected_order = 11;

/// Gauss-Lobatto-Legendre quadrature of order + 1 points on [-1, 1], including both ends. It is exact up to degree 2
/// order - 1.
struct Rule {
  int order = 0;
  std::vector<double> points;   ///< points of the quadrature rule in [-1, 1], ascending
  std::vector<double> weights;  ///< quadrature weights, whose sum is 2
  /// derivative matrix: row i, column m has the derivative of the m-th Lagrange polynomial at point i
  std::vector<double> derivative;
};
/// Makes the quadrature rule of this order. Throws Error unless least_order <= order <= most_order.
Rule gauss_lobatto(int order);
/// Matrix of a modal filter, which multiplies the Legendre modes by `factors`, order + 1 of them. The matrix maps
/// values at the points to filtered values: row i, column m; (order + 1)^2.
std::vector<double> modal_filter(const Rule& rule, std::span<const double> factors);
/// Interpolation matrix, to.size() x (order + 1). Row i, column m: the m-th Lagrange polynomial of `from`'s points at
/// to[i].
std::vector<double> interpolation(const Rule& from, std::span<const double> to);

using Point = std::array<double, 3>;

/// A map of the domain: returns the images of given positions, in the same order. One thread at a time calls it, with
/// some thousands of positions.
using Map = std::function<std::vector<Point>(std::span<const Point>)>;

/// Flags of the elements' faces on the sides of a box, set where an unknown is given (Dirichlet's condition). Indexed
/// as [axis][low, high][face], the lower of the two other axes fastest.
struct DirichletFaces {
  std::array<std::array<std::vector<bool>, 2>, 3> of;
  bool any() const;
};
/// One flag for each side of a box: [axis][low, high].
using SideFlags = std::array<std::array<bool, 2>, 3>;

/// A box of ex x ey x ez hexahedra. Element e = x + ex (y + ey z) has the same number on any number of devices.
struct ElementBox {
  std::array<std::int64_t, 3> elements{1, 1, 1};
  Point lower{0, 0, 0}, upper{1, 1, 1};
  std::array<bool, 3> periodic{false, false, false};
  Point stretch{1, 1, 1};  ///< ratio of the last element's width to the first one's, along each axis
  /// Amplitude of the sine map. It adds deform sin(2 pi y_0) sin(2 pi y_1) sin(2 pi y_2) to each coordinate y_d in [0,
  /// 1]^3 of the box. The sides are unchanged. Above 0.137 the map folds.
  double deform = 0;
  /// Maps the stretched and deformed box to its final shape; none: identity. It must keep the orientation. Two opposite
  /// sides of a periodic axis must differ by a constant vector, which may be zero (a ring).
  Map map = {};
  bool straight = false;  ///< whether edges of elements are straight, so that only corners are mapped

  std::int64_t count() const { return elements[0] * elements[1] * elements[2]; }
  /// Throws Error for an axis without elements, an empty extent, or a stretch that is not positive. Also throws for a
  /// map that does not keep a periodic axis periodic. It tests corners and middles of the sides' faces for that, 257
  /// along an axis at most.
  void check() const;
  /// Position of a point of an element, r in [-1, 1]^3.
  Point place(std::int64_t element, const Point& r) const;
  /// Returns one id for each point of elements [first, last), for GatherScatter. Ids start at 1 and are equal at shared
  /// points; points within an element have 0. Throws Error where ids do not fit 64 bits.
  std::vector<std::int64_t> ids(std::int64_t first, std::int64_t last, int order) const;
  /// Dirichlet flags of element faces: set on the given sides of the box, except along periodic axes.
  DirichletFaces dirichlet(const SideFlags& sides = {{{true, true}, {true, true}, {true, true}}}) const;
  /// Centres of the elements' faces on a side, the lower of the two other axes fastest. Calls the map once.
  std::vector<Point> face_centres(int axis, int end) const;
  /// Number of an element's face on a side. The element must lie at the low or high end of the axis.
  std::int64_t face_of(int axis, std::int64_t element) const;
  /// One value for each point: 0 on the given faces, in all elements that share the point, else 1.
  std::vector<double> mask(const DirichletFaces& faces, std::int64_t first, std::int64_t last, int order) const;
  /// Indices of points of elements [first, last) on a side of the box, one for each element that has the point.
  std::vector<std::int64_t> points_on(int axis, int end, std::int64_t first, std::int64_t last, int order) const;
};

/// Storage of the geometric factors. `stored`: G at every point, 48 B each. `affine`: one matrix an element, for boxes
/// whose elements are parallelepipeds; the operator then reads 16 B a point, not 64. `trilinear`: eight corners an
/// element, for elements with straight edges; the operator reads 16 B a point, and recomputes G.
enum class Factors : std::uint8_t { stored, affine, trilinear };
std::string to_string(Factors factors);
Factors factors_from_string(const std::string& name);

/// Metric of elements [first, last), by the derivative of the map's interpolant (isoparametric elements).
struct Geometry {
  Factors factors = Factors::stored;
  /// stiffness factors, with the reference coordinates r, s, t; stored: [element][rr rs rt ss st tt][point]; affine:
  /// [element][6], without quadrature weights; trilinear: [element][x y z][corner], r fastest
  std::vector<double> stiffness;
  std::vector<double> mass;    ///< mass factors w_i w_j w_k |J|, [element][point]
  std::vector<double> metric;  ///< metric d(r, s, t)/d(x, y, z), [element][rx ry rz sx sy sz tx ty tz][point]
  std::vector<Point> places;   ///< coordinates of the points, [element][point]
};
/// Throws Error that names element and place where the Jacobian's determinant is not positive. The determinant is
/// tested between the elements' points, too, and in the map itself; below 1e-10 of an element's mean it counts as zero.
/// Throws Error for affine or trilinear factors where an element has not that shape. `with_metric`: fills `metric`, for
/// gradients.
Geometry geometry(const ElementBox& box, const Rule& rule, std::int64_t first, std::int64_t last, Factors factors,
                  bool with_metric = false);

/// Quadrature weights of a side, at its points as points_on() lists them. They are w_a w_b |J grad c|: a and b are the
/// axes within the side, c is the axis across it. A point of several elements has a weight in each.
std::vector<double> side_weights(const ElementBox& box, const Rule& rule, int axis, int end, std::int64_t first,
                                 std::int64_t last);

/// Quadrature weights of a side times the outward normal.
std::vector<Point> side_areas(const ElementBox& box, const Rule& rule, int axis, int end, std::int64_t first,
                              std::int64_t last);

/// A vector on the devices of this rank: (order + 1)^3 values for each element.
using Vector = std::vector<Buffer<double>>;

struct SpaceOptions {
  Factors factors = Factors::stored;
  bool gradient = false;  ///< whether the space keeps the metric, 72 B a point, for gradients
  ExchangeOptions exchange;
  std::optional<TuneOptions> tune = {};  ///< how to tune the routes of sums over shared points; none: by rules
  /// whether apply() overlaps the exchange of a device's boundary elements; bits do not depend on this
  bool overlap = true;
};

/// Replaces the stiffness factors G and the mass factors B of a Space in an operator; null: the space's own.
struct OperatorTerms {
  const Vector* factors = nullptr;  ///< metric factors of the stiffness operator, as made by Space::scaled_factors
  const Vector* mass = nullptr;     ///< diagonal of the mass matrix, one value per point; null: that of the Space
};

/// A box of elements distributed over devices, and the operators on it. Each device has a range of whole blocks of
/// elements. Work is queued on streams(), one a device of this rank; calls do not wait for it.
class Space {
 public:
  /// Number of elements in a block, the unit of sums and of distribution. It does not depend on the devices: 1 for up
  /// to 1023 elements, 2 for up to 2047, and so on to 64. So there are 512 blocks or more where there are enough
  /// elements.
  static std::int64_t elements_of_a_block(std::int64_t elements);
  std::int64_t elements_of_a_block() const;
  /// Number of the first element of a device; its elements end before the next device's first.
  static std::int64_t first_of(std::int64_t elements, int devices, int device);

  /// Makes the space of polynomials of degree `order` on the elements of `box`. Collective; all ranks throw its errors.
  Space(const Communicator& comm, const Machine& machine, const ElementBox& box, int order, SpaceOptions options = {});
  ~Space();  ///< collective: all ranks destroy the space together
  Space(Space&&) noexcept;

  int order() const;
  const ElementBox& box() const;
  std::int64_t points_per_element() const;
  std::int64_t first_element(std::size_t device) const;  ///< number of the first element of a device of this rank
  std::int64_t elements(std::size_t device) const;
  std::int64_t points(std::size_t device) const;
  std::vector<Stream>& streams();
  Vector vector(int components = 1) const;  ///< makes a vector of zeros; component c begins after c times points()
  /// Coordinates of the points, in host memory, in the order of the values.
  const std::vector<Point>& places(std::size_t device) const;

  /// Applies the Helmholtz operator without assembly: out = (h1 A + h2 B) in for each element; `in` may be `out`.
  void helmholtz(const Vector& in, Vector& out, double h1, double h2, const OperatorTerms& terms = {});
  void helmholtz(const std::vector<double*>& in, const std::vector<double*>& out, double h1, double h2,
                 const OperatorTerms& terms = {});
  /// Applies the Helmholtz operator and sums over the copies of each point: out = Q Q^T (h1 A + h2 B) in. A is the
  /// stiffness and B the mass matrix; Q Q^T sums over copies. All components share one launch, and one message for each
  /// pair of devices. If given, parts[device] gets the partial sums of the scalar product (in, out) of each block of
  /// points, one component after the other. `in` must then be continuous, and zero at points with a given value.
  void apply(const std::vector<double*>& in, const std::vector<double*>& out, double h1, double h2,
             const std::vector<double*>& parts = {}, const OperatorTerms& terms = {}, int components = 1);
  /// Returns the stiffness matrix's geometric factors times diffusivity kappa, 48 B a point. Only for Factors::stored.
  Vector scaled_factors(const Vector& kappa);
  /// Computes out = B in, with the mass factors B.
  void mass(const Vector& in, Vector& out);
  /// Derivatives along x, y and z at each element's points, not made continuous. Needs SpaceOptions::gradient.
  void gradient(const Vector& in, std::array<Vector*, 3> out);
  /// Divergence (the sum of du_a/dx_a) and curl of u at each element's points, not made continuous. `out` must not be a
  /// component of u. Both need SpaceOptions::gradient.
  void divergence(const std::array<const Vector*, 3>& u, Vector& out);
  void curl(const std::array<const Vector*, 3>& u, const std::array<Vector*, 3>& out);
  /// Computes out = int grad phi . g dx for all polynomials phi of an element, not summed. A null component of g is
  /// zero. Needs SpaceOptions::gradient. Throws Error unsupported above most_advected_order.
  void weak_divergence(const std::array<const Vector*, 3>& g, Vector& out);
  void weak_divergence(const std::array<const Vector*, 3>& g, const std::vector<double*>& out);
  /// Step size of each element, for explicit steps that lower the divergence of a velocity. These remain stable if all
  /// sizes are scaled by a factor below 2. A size is one over an upper bound of the largest eigenvalue of the element's
  /// grad-div operator; the bound is strict for bricks. Needs SpaceOptions::gradient.
  Vector grad_div_step();
  /// Dealiased advection: out = int phi c . grad v dx for all polynomials phi of an element, not summed. The quadrature
  /// has fine_points() along an edge, 3/2 (order + 1) rounded up. First carry() computes w |J| grad a . c, a of r, s
  /// and t, at the finer points, once for all fields that c advects. The metric there is that of the elements'
  /// polynomials. On parallelepipeds the integral is exact. On curved elements an error from the metric's own degree is
  /// left, which falls with the order: 1.5e-11 at order 7, with edges bent by 0.1. The first call copies the positions
  /// to the devices, 24 B a point. Each call reads 48 B a point (affine factors: 24 B) and writes 24 B a finer point.
  /// Both throw Error unsupported above most_advected_order.
  int fine_points() const;
  Vector fine_vector() const;  ///< makes a vector of zeros with fine_points()^3 values an element
  void carry(const std::array<const Vector*, 3>& c, const std::array<Vector*, 3>& fine);
  void advect(const std::array<const Vector*, 3>& fine, const Vector& v, Vector& out);
  /// Finds the largest Courant number of the velocity c for a time step of 1, and its point. A point's Courant number
  /// is a sum over the axes a = r, s, t of its element. Each term is |c . grad a| over the distance in a to the nearest
  /// point. Needs SpaceOptions::gradient. Waits for the devices. Collective.
  struct Fastest {
    double rate = 0;
    std::int64_t element = 0;
    Point place{};
  };
  Fastest fastest(const std::array<const Vector*, 3>& c);
  /// Interpolates polynomials of another order to the points of this space. `in` belongs to `from`, a space of the same
  /// elements on the same devices; the call waits for its streams. To a higher order it is exact. Throws Error where
  /// the spaces do not match.
  void interpolate(const Vector& in, Space& from, Vector& out);
  /// Damps the highest of an element's Legendre modes, element by element, along each axis. From mode k0 = order + 1 -
  /// modes on, mode k gets the factor 1 - strength ((k - k0 + 1) / modes)^2. Lower modes are unchanged to rounding.
  /// `strength` is from 0 to 1, `modes` from 1 to the order. Source: Fischer & Mullen, Filter-based stabilization of
  /// spectral element methods, 2001. nekRS has the quadratic transfer function, too.
  void filter(Vector& u, double strength, int modes = 1);
  /// Sums over the copies of points: u = Q Q^T u for `components` components, in one message for each pair of devices.
  void assemble(Vector& u, int components = 1);
  void assemble(const std::vector<double*>& u, int components = 1);
  /// One over the diagonal of the assembled Helmholtz matrix h1 A + h2 B (stiffness A, mass B); 0 where `mask` is 0.
  Vector inverse_diagonal(const Vector& mask, double h1, double h2, const OperatorTerms& terms = {});
  const Vector& weights() const;      ///< one over the number of copies of each point
  const Vector& mass_matrix() const;  ///< mass factors B, element by element

  const Communicator& comm() const;
  const Machine& machine() const;
  const SpaceOptions& options() const;
  /// The gather-scatter for this number of components. The first call for each number is collective.
  GatherScatter& gather_scatter(int components = 1);
  /// Whether graphs may repeat apply() and sums of this number of components in a loop.
  bool loopable(int components = 1);
  /// Metric factors of the stiffness matrix for a device's elements, in its memory; layout as Geometry::stiffness.
  const double* factors(std::size_t device) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The points on Dirichlet faces, where an unknown is fixed. Unknowns with different conditions need a Constraint each.
class Constraint {
 public:
  /// Makes a Dirichlet constraint on `faces`, or all non-periodic sides. Collective. `space` must outlive it, unmoved.
  explicit Constraint(Space& space);
  Constraint(Space& space, DirichletFaces faces);

  bool any() const;               ///< whether some point is fixed (Dirichlet)
  const Vector& mask() const;     ///< mask M: 0 at fixed points, else 1
  const Vector& weights() const;  ///< mask M over the number of copies of each point
  /// Applies the mask: u = M u for `components` components.
  void apply(const std::vector<double*>& u, int components = 1);
  /// Sums over copies and applies the mask: u = M Q Q^T u.
  void assemble(Vector& u, int components = 1);
  const DirichletFaces& faces() const;
  /// Mask (0 at fixed Dirichlet points, else 1) at the points of elements [first, last), for any polynomial order.
  std::vector<double> mask(std::int64_t first, std::int64_t last, int order) const;

 private:
  Space* space_;
  DirichletFaces faces_;
  Vector mask_, weights_;
};

/// Coefficients of an unknown that vary in space; empty: none.
struct Coefficients {
  Vector factors;   ///< geometric stiffness factors that replace the space's own, made by Space::scaled_factors
  Vector reaction;  ///< diagonal mass matrix times reaction coefficient, plus surface mass of Robin conditions
};

/// jacobi: the inverse diagonal. chebyshev: krylov::ChebyshevPolynomial. multigrid, schwarz: a V-cycle of p-multigrid
/// in single precision, over the orders N, N / 2, ... and the elements' corners. Its smoothers are polynomials of
/// Chebyshev's fourth kind (Lottes 2023) in the inverse diagonal, or in overlapping Schwarz. Schwarz's local problems
/// have one point of each face neighbour and are solved by fast diagonalisation (Lottes & Fischer 2005, J. Sci. Comput.
/// 24). All are symmetric and positive up to rounding.
enum class Preconditioner : std::uint8_t { jacobi, chebyshev, multigrid, schwarz };
/// Preconditioner by its name in the enum. Throws Error where there is no such name.
Preconditioner preconditioner_from_string(const std::string& name);
/// Krylov method by its name, "cg" or "fgmres". Throws Error for other names.
krylov::Method method_from_string(const std::string& name);

/// Method and preconditioner of a HelmholtzSolver.
struct SolverOptions {
  krylov::Method method = krylov::Method::conjugate_gradients;
  Preconditioner preconditioner = Preconditioner::jacobi;
  int degree = 2;    ///< degree of the Chebyshev polynomials: the preconditioner's, or those of multigrid's smoothers
  int restart = 30;  ///< number of vectors of flexible GMRES before a restart
  /// Number of unknowns that one call solves for, each with its own right side: 1 to krylov::most_components. Several
  /// need conjugate gradients, without projection.
  int components = 1;
  /// Number of earlier solutions for the first guess, which is the one of least error in their span (Fischer 1998); 0:
  /// none.
  int projection = 0;
  /// Device memory for the earlier solutions, so that the caller can write them to checkpoints (see
  /// krylov::Projection). Empty: the solver allocates it.
  krylov::Vectors earlier = {};
};

/// Evaluates the elements' polynomials at any points. Newton's method inverts the map of an element, whose result is r
/// in [-1, 1]^3. It tries the elements whose bounding boxes hold the point. Where several elements share a point, the
/// one of the lowest number has it, so values do not depend on devices or ranks.
class Probe {
 public:
  /// Finds the points, which must be the same on every rank. Collective. Where a point is in no element, all ranks
  /// throw Error not_found, with the fact "point" and its number "index". Points outside by at most 1e-8 of an
  /// element's extent count as on its side.
  Probe(Space& space, std::vector<Point> points);  ///< the space must outlive the probe
  ~Probe();
  Probe(Probe&&) noexcept;

  const std::vector<Point>& points() const;
  /// Values of the polynomials at the points, on every rank. Reads only elements that have points. Collective.
  std::vector<double> values(const std::vector<const double*>& u);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Solver of Helmholtz problems M Q Q^T (h1 A + h2 B) x = b on spectral elements, for any number of right sides.
class HelmholtzSolver {
 public:
  /// Collective; the arguments must outlive the solver. Throws Error on all ranks if options.degree, options.restart or
  /// options.components is below 1, or options.projection (number of earlier solutions) is below 0.
  HelmholtzSolver(Space& space, const Constraint& constraint, SolverOptions options = {});
  HelmholtzSolver(Space& space, const Constraint& constraint, const Coefficients& coefficients,
                  SolverOptions options = {});
  ~HelmholtzSolver();  ///< collective: all ranks destroy the solver together
  HelmholtzSolver(HelmholtzSolver&&) noexcept;

  /// Solves from the given x, which must be zero at fixed points. b must be assembled. Without fixed points and
  /// reaction, and with h2 = 0, x is the solution whose mean is zero. The preconditioner is rebuilt where h1 or h2
  /// differ from the last call. Collective; throws the errors of krylov::ConjugateGradients::solve. fit() checks a pair
  /// of method and preconditioner once for each h1 and h2. Conjugate gradients refuse pairs that are not symmetric and
  /// positive.
  krylov::Result solve(const Vector& b, Vector& x, double h1, double h2, krylov::Options options = {});
  /// Solves for each component of the right side b, in vectors made by Space::vector(components).
  std::vector<krylov::Result> solve_all(const Vector& b, Vector& x, double h1, double h2, krylov::Options options = {});
  /// Applies the Helmholtz operator with the coefficients: u = (h1 A + h2 B) u, element by element, not summed.
  void apply(Vector& u, double h1, double h2);
  /// Measures symmetry and cost of operator and preconditioner. Collective.
  krylov::Fit fit(double h1, double h2);
  /// Number of earlier solutions for first guesses. A restart sets it; they must belong to the next solve's operator.
  int earlier() const;
  void set_earlier(int count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Makes a HelmholtzSolver and solves for one right side.
krylov::Result solve(Space& space, const Constraint& constraint, const Vector& b, Vector& x, double h1, double h2,
                     krylov::Options options = {});

/// Pointers to a vector's values, one for each device of this rank.
std::vector<double*> pointers(const Vector& vector);

}  // namespace slipstream::sem
