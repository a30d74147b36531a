#include "solver/lbm/step/start.hpp"

#include <slipstream/launch.hpp>

#include "device/rolled.hpp"
#include "solver/lbm/storage/access.hpp"
#include "solver/lbm/storage/storage.hpp"

namespace slipstream::lbm {
inline namespace start_kernels {

/// Sets a fluid at rest. Under a force it has half of the source after a collision: w_i 3 c_i . F / 2.
template <class S>
struct Rest {
  using T = typename S::Number;
  typename S::Word* out;
  Places places;
  Scalars<const std::uint8_t> flags;
  T half[3];
  PopulationsStart<S> lattice;
  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return;
    const auto put = [&](const Heading& h, T value) { out[places.outgoing({i, j, k}, h)] = S::store(value); };
    put(Heading{}, T(0));
    SLIP_ROLLED
    for (int q = 1; q < lattice.headings.count; ++q) {
      const Heading h = lattice.headings[q];
      put(h, T(3 * lattice.weight[h.x * h.x + h.y * h.y + h.z * h.z]) *
                 (T(h.x) * half[0] + T(h.y) * half[1] + T(h.z) * half[2]));
    }
  }
};

/// Sets populations after a collision, to first order in gradients:
///
///   f_i = equilibrium_i(rho, u) - 3 w_i rho (tau - 1) (c_i c_i - 1/3) : S,    S = (grad u + (grad u)^T) / 2
///
/// (Chapman & Enskog; Latt & Chopard 2006). tau includes the eddy viscosity of an LES model. A force F adds half of its
/// source term, 3 w_i c_i . F / 2. Gradients use central differences, one-sided ones at sides that are not periodic.
template <class S>
struct StartFlow {
  typename S::Word* out;
  Places places;
  Scalars<const std::uint8_t> flags;
  GivenFlow flow;
  PopulationsStart<S> lattice;

  SLIP_FN void operator()(int i, int j, int k) const {
    if (flags.origin[flags.at(i, j, k)] != 0) return;
    const GivenFlow::Cell at = flow.cell(i, j, k);
    const double *u = at.u, uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    SLIP_ROLLED
    for (int q = 0; q < lattice.headings.count; ++q) {
      const Heading h = lattice.headings[q];
      const double c[3] = {double(h.x), double(h.y), double(h.z)};
      double cu = 0, ch = 0, qs = 0;
      for (int a = 0; a < 3; ++a) {
        cu += c[a] * u[a];
        ch += c[a] * flow.half[a];
        for (int b = 0; b < 3; ++b) qs += (c[a] * c[b] - (a == b ? 1.0 / 3 : 0.0)) * at.s[a][b];
      }
      const double g = at.excess + at.rho * (3 * cu + 4.5 * cu * cu - 1.5 * uu) - at.stress * qs + 3 * ch;
      out[places.outgoing({i, j, k}, h)] =
          S::store(static_cast<typename S::Number>(lattice.weight[h.x * h.x + h.y * h.y + h.z * h.z] * g));
    }
  }
};

}  // namespace start_kernels

template <class S>
void PopulationsStart<S>::at_rest(Stream& stream, const Box& box, const BlockArrays& b, const Model& model) const {
  const auto half = [&](int axis) { return static_cast<typename S::Number>(0.5 * model.force[axis]); };
  launch(stream, box,
         Rest<S>{reinterpret_cast<typename S::Word*>(b.populations.origin),
                 Places(b),
                 Scalars<const std::uint8_t>(b.flags),
                 {half(0), half(1), half(2)},
                 *this});
}

template <class S>
void PopulationsStart<S>::flow(Stream& stream, const Box& box, const BlockArrays& b, const GivenFlow& flow) const {
  launch(stream, box,
         StartFlow<S>{reinterpret_cast<typename S::Word*>(b.populations.origin), Places(b),
                      Scalars<const std::uint8_t>(b.flags), flow, *this});
}

template struct PopulationsStart<StoredF16>;
template struct PopulationsStart<StoredF32>;
template struct PopulationsStart<StoredF64>;

}  // namespace slipstream::lbm
