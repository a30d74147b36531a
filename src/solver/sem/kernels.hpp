#pragma once
// Functions that run element operators, by polynomial order. Each order is compiled once, several in a file.
#include <cstdint>
#include <vector>

#include <slipstream/sem.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::sem {

template <class T>
struct HelmholtzCallOf {
  const Rule* rule;
  Factors form;
  const T *in, *factors, *mass;
  T* out;
  T h1, h2;
  std::int64_t elements;
  const std::int32_t* list = nullptr;  ///< indices of the elements to process; null: 0 to `elements` - 1
  T* energies = nullptr;               ///< dot product of input and result within each element; null: not wanted
  /// Number of components of the vectors. Values of one component begin `all` elements after those of the one before.
  int components = 1;
  std::int64_t all = 0;
};
using HelmholtzCall = HelmholtzCallOf<double>;

/// Arguments of the local solves of overlapping Schwarz (multigrid/schwarz.hpp).
struct SchwarzCall {
  const float *r, *weights;  ///< residual and weights, 1 / sqrt(number of local solves), at the elements' points
  /// In: weighted residual one point outside of each element face plus that one point inside, [element][x- x+ y- y+ z-
  /// z+][n n]. Out: solutions of the overlapping Schwarz method's local problems one point outside of the faces.
  float* faces;
  float* z;                   ///< solutions of the local problems at the points of the element itself
  float* ends;                ///< solutions of local solves one point beyond the elements' faces
  const float* inner;         ///< 1D eigenvectors (fast diagonalisation) of elements with two neighbours; on the host
  const float* matrices;      ///< 1D stiffness eigenvectors along an element's axis, as columns, by type of its ends
  const float* eigenvalues;   ///< 1D stiffness eigenvalues along an element's axis, by type of ends (neighbour, side)
  const std::int32_t* kinds;  ///< for [element][axis], a number: which ends have a neighbour or what kind of side
  const float* coefficients;  ///< coefficients of the stiffness along x, y and z, and of the mass, [element]
  float h1, h2;
  std::int64_t elements;
};

/// Arguments for sums of derivatives of one to three components: `of[c]` lists the terms that derive component c.
struct DerivativesCall {
  struct Term {
    int axis, out;
    double sign;
    bool first;  ///< whether the term sets its result, instead of adding to it
  };
  const Rule* rule;
  const double* in[3];
  const double* metric;
  double* out[3];
  std::int64_t elements;
  Term of[3][3];
  int components, terms;  ///< number of components to derive; number of derivatives taken of each
};

/// Arguments for out = int grad phi . in, for all basis polynomials phi of an element.
struct WeakDivergenceCall {
  const double *in[3], *metric, *mass;  ///< vector field by component (null: zero); slopes of r, s, t; mass matrix
  double* out;
  std::int64_t elements;
};

/// Finer quadrature rule, with which products of polynomials are integrated.
struct FineRule {
  int points = 0;                             ///< number of points along an edge
  std::vector<double> value, slope, weights;  ///< matrices from the element's points to the finer ones, by rows
};
struct CarryCall {
  const double *in[3], *places[3];  ///< velocity c and coordinates x, y and z at the element's points
  double* fine[3];
  std::int64_t elements;
  bool parallelepipeds;
};
struct AdvectCall {
  const double* fine[3];
  const double* in;
  double* out;
  std::int64_t elements;
};

/// Table of the kernels for elements of one order.
struct OrderKernels {
  void (*helmholtz)(Stream& stream, const HelmholtzCall& call);
  void (*helmholtz_f32)(Stream& stream, const HelmholtzCallOf<float>& call);  ///< Helmholtz in f32, from stored metrics
  void (*schwarz)(Stream& stream, const SchwarzCall& call);
  void (*derivatives)(Stream& stream, const DerivativesCall& call);
  int fine_points = 0;  ///< points of the finer quadrature along an edge; 0: no kernels for it
  void (*weak_divergence)(Stream& stream, const Rule& rule, const WeakDivergenceCall& call);
  void (*carry)(Stream& stream, const FineRule& fine, const CarryCall& call);
  void (*advect)(Stream& stream, const FineRule& fine, const AdvectCall& call);
};
const OrderKernels& order_kernels(int order);

/// Returns the kernels of an order. Defined for all orders in orders_*_kernels.cpp.
template <int order>
OrderKernels kernels_of();

/// The finer rule with `points` Gauss-Lobatto points; it is exact up to degree 2 points - 3.
FineRule fine_rule(const Rule& rule, int points);

// The kernels below work point by point, for any order.

/// Multiplies two vectors point by point: out = a b.
void multiply(Stream& stream, const double* a, const double* b, double* out, std::int64_t points);
/// Linear combination out = constant + sum of factor (vector - less), `less` a number; out may be one of the vectors.
struct Sum {
  struct Term {
    double factor = 0;
    const double* vector = nullptr;
    double less = 0;
  };
  static constexpr int most = 8;
  double constant = 0;
  Term terms[most] = {};
  int count = 0;
  /// Adds a scaled vector to this linear combination. Throws Error if it has `most` terms already.
  void add(const Term& term);
};
void combine(Stream& stream, const Sum& sum, double* out, std::int64_t points);
/// Extends values on a box's Dirichlet sides to its interior. Between two sides across an axis it is linear in the
/// place along the box; a single side is extended as a constant. The axes are combined by the Boolean sum P_x + P_y +
/// P_z - P_x P_y - P_x P_z - P_y P_z + P_x P_y P_z (Gordon & Hall 1973). If all values are `middle`, the result is
/// exactly that.
struct Extension {
  const double* values;      ///< given values at points of all sides; the lower of the other axes changes fastest
  std::int64_t begin[3][2];  ///< index of the first value of a side; -1: not a Dirichlet side
  const double* shares[3];   ///< relative position in the box, 0 to 1, by point along an axis
  std::int64_t wide[3];      ///< number of points along an axis, both ends counted
  std::int64_t elements[3];
  std::int64_t first;  ///< element to which the first value of `out` belongs
  int order;
  double middle;  ///< mid-range of the boundary values; deviations from it are extended, so that constants stay exact
};
void extend(Stream& stream, const Extension& extension, double* out, std::int64_t points);
/// Finds the largest |a - b| of two arrays: out[n] has that of the points of thread block n; NaN if one of them is NaN.
inline constexpr std::int64_t largest_parts = 256;
void largest_difference(Stream& stream, const double* a, const double* b, double* out, std::int64_t points);
/// Computes out = kappa G, scaled metric factors, with the layout [element][6][point].
void scale_factors(Stream& stream, const double* factors, const double* kappa, double* out, std::int64_t cube,
                   std::int64_t elements);
/// Computes each element's explicit step for damping of divergence: 1 / (rate times its largest |grad r|^2 +
/// |grad s|^2 + |grad t|^2). `rate`: largest eigenvalue of the stiffness matrix over the mass matrix, on [-1, 1].
void inverse_spacing(Stream& stream, const double* metric, double rate, std::int64_t cube, double* out,
                     std::int64_t elements);
/// Finds the largest Courant number for a time step of 1 in each element e. It sums |c . grad a| / (distance to the
/// nearest point) over a = r, s, t. It goes to out[2 e], and the number of its point to out[2 e + 1].
void largest_rates(Stream& stream, const double* const* c, const double* metric, const std::vector<double>& nearest,
                   double* out, std::int64_t elements);
/// Computes the diagonal of each element's Helmholtz matrix: h1 times stiffness matrix plus h2 times mass matrix.
void diagonal(Stream& stream, const HelmholtzCall& call);
/// Arguments to interpolate elements along each axis from `n` points to `m` by a matrix. Values may have weights.
template <class T>
struct InterpolateCallOf {
  const std::vector<double>& matrix;
  int n, m;
  const T* in;
  T* out;  ///< interpolated values; may be the input array if elements keep their number of points
  std::int64_t elements;
  const T* weights = nullptr;  ///< factor of each input value before interpolation; null: 1
};
using InterpolateCall = InterpolateCallOf<double>;
void interpolate(Stream& stream, const InterpolateCall& call);
/// Arguments for out[p] = sum over n^3 points of element[p] of `in` times the weights of p along r, s and t, n each.
struct EvaluateCall {
  int n;
  const double *in, *weights;
  const std::int64_t* element;
  double* out;
  std::int64_t points;
};
void evaluate(Stream& stream, const EvaluateCall& call);
/// Arguments for forces at `count` points of sides: out[c] = p area_c, and out[3 + c] = - nu sum over a of (du_c/da +
/// du_a/dc) area_a. Here c and a are x, y and z. Each force has `count` values, as have the areas.
struct TractionCall {
  const std::int64_t* points;
  const double *areas, *p, *gradients[3][3];  ///< inputs by point: area vectors, pressure, velocity gradients du_c/da
  double nu, *out;
  std::int64_t count;
};
void traction(Stream& stream, const TractionCall& call);
/// Arguments to update running means of a velocity, a pressure and the products uu vv ww uv uw vw of instantaneous
/// components: mean += share (value - mean).
struct MeansCall {
  const double *u[3], *p;
  double *mean_u[3], *mean_p, *squares[3], *products[3];
  double share;
  std::int64_t points;
};
void add_to_means(Stream& stream, const MeansCall& call);
/// Computes u = mask / u; `otherwise` where the mask is 0.
void invert(Stream& stream, double* u, const double* mask, double otherwise, std::int64_t points);

}  // namespace slipstream::sem
