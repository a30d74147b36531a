#pragma once
// Multigrid kernels on points and elements, in single precision, for any order.
#include <cstdint>

#include <slipstream/stream.hpp>

#include "solver/sem/kernels.hpp"

namespace slipstream::sem {

// Kernels that run only in set-up.

/// Converts stiffness factors [element][rr rs rt ss st tt][point] and mass [element][point] of any form to densities,
/// divided by the quadrature weights. Densities can be interpolated between orders.
void densities(Stream& stream, const HelmholtzCall& from, float* factors, float* mass);
void interpolate(Stream& stream, const InterpolateCallOf<float>& call);
/// Multiplies values[element][values_of_a_point][point] by the weights of the quadrature rule.
void weigh(Stream& stream, const Rule& rule, int values_of_a_point, float* values, std::int64_t elements);
/// Averages the diagonal stiffness factors and the mass factor over each element: coefficients of an equivalent box.
void coefficients(Stream& stream, const HelmholtzCallOf<float>& of, float* four);
/// Computes each element's diagonal of h1 A + h2 B: stiffness matrix A and mass matrix B with scalar factors h1, h2.
void diagonal(Stream& stream, const HelmholtzCallOf<float>& of);
/// Computes Helmholtz matrices (h1 stiffness + h2 mass) of elements for the trilinear basis functions of their corners,
/// by the elements' quadrature, as [element][corner][corner].
void corner_matrices(Stream& stream, const HelmholtzCallOf<float>& of, float* matrices);

// Kernels for overlapping Schwarz. They work on the layer of points inside an element that is next to its faces.

/// Gathers the residual r times weights at the points one layer inside the faces of elements: faces = weights r.
void second_layers(Stream& stream, int n, const float* r, const float* weights, float* faces, std::int64_t elements);
/// Adds the neighbouring elements' local Schwarz solutions to the result z, at points one layer inside each face.
void add_second_layers(Stream& stream, int n, const float* sums, const float* ends, float* z, std::int64_t elements);
/// Computes `ends`, u one layer inside a neighbouring element: the sum of both elements (`sums`) less the own value.
void beyond(Stream& stream, int n, const float* u, const float* sums, float* ends, std::int64_t elements);
/// Computes u = 1 / sqrt(u), or 0 at points whose flag is 0.
void over_root(Stream& stream, float* u, const float* flags, std::int64_t points);
/// Sets `to` to 1, or to 0 at points whose flag is 0.
void ones(Stream& stream, const float* flags, float* to, std::int64_t points);

// Kernels on whole vectors.

void to_single(Stream& stream, const double* from, float* to, std::int64_t points);
void to_double(Stream& stream, const float* from, double* to, std::int64_t points);
/// Multiplies two vectors point by point in single precision: out = a b.
void multiply(Stream& stream, const float* a, const float* b, float* out, std::int64_t points);
/// Computes u = 1 / u, or 0 at points whose flag is 0.
void invert(Stream& stream, float* u, const float* flags, std::int64_t points);
/// Adds a vector to another in single precision: z += d.
void add(Stream& stream, const float* d, float* z, std::int64_t points);
/// Subtracts a vector from another in single precision: r -= q.
void subtract(Stream& stream, const float* q, float* r, std::int64_t points);
/// Arguments of a smoother step for residual s, correction d and solution z. If q = A d is given: s -= q. Then
/// d = a d + b w s and z += d, with weights w by point. With `first`: d = z = b w s. Without w: d = a d + b s.
struct Change {
  float a = 0, b = 1;
  float* s = nullptr;
  const float *w = nullptr, *q = nullptr;
  float *d = nullptr, *z = nullptr;
  bool first = false;
};
void change(Stream& stream, const Change& change, std::int64_t points);

// Kernels on the vertices, which are the elements' corners. Each device holds all of them.

struct Vertices {
  std::int64_t elements[3], count[3];  ///< number of vertices along an axis; one less if the axis is periodic
  std::int64_t all() const { return count[0] * count[1] * count[2]; }
  SLIP_FN std::int64_t of(std::int64_t element, int corner) const {
    const std::int64_t x = (element % elements[0] + (corner & 1)) % count[0];
    const std::int64_t y = (element / elements[0] % elements[1] + (corner >> 1 & 1)) % count[1];
    const std::int64_t z = (element / (elements[0] * elements[1]) + (corner >> 2)) % count[2];
    return x + count[0] * (y + count[1] * z);
  }
};

/// Computes to[element][corner] = the entry of the corner's matrix row for the corner that lies `offset` away, or 0 if
/// there is none. Offsets count from 0 to 26, those along x fastest.
void entries(Stream& stream, const float* matrices, int offset, float* to, std::int64_t elements);
/// Copies vertex values to corners, to[element][corner] = values[vertex]; `first`: index of the first element.
void from_vertices(Stream& stream, const Vertices& vertices, std::int64_t first, const float* values, float* to,
                   std::int64_t elements);
/// Computes out = A in, with A as [offset][vertex]. `free` is 0 at fixed vertices.
void apply_stencil(Stream& stream, const Vertices& vertices, const float* stencil, const float* free, const float* in,
                   float* out);
/// Arguments to transform vertex values along an axis by eigenvectors of a separable operator, and to scale the result.
struct Along {
  int axis;
  bool transposed;
  const float* matrix;  ///< eigenvectors S of the coarsest problem along the axis, by columns; a row for each vertex
  const float* inverse;
  const float* in;
  float* out;
};
void along(Stream& stream, const Vertices& vertices, const Along& call);

}  // namespace slipstream::sem
