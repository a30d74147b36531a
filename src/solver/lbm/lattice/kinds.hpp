#pragma once
// Data structures for kernels: the kinds of boundary links from cells to walls, bodies and openings.
#include <cstdint>
#include <span>

namespace slipstream::lbm {

/// Local coordinates of a cell.
struct Cell {
  std::int32_t x = 0, y = 0, z = 0;
};

/// A velocity of the lattice, with the index of its population.
struct Heading {
  std::uint8_t i = 0;
  std::int8_t x = 0, y = 0, z = 0;
};

/// A half-way bounce-back link: the population that comes out of a wall is the opposite one that the cell sent there,
/// plus a term for the wall's velocity.
struct Link {
  Cell cell;
  Heading in;       ///< population that comes out of the wall
  double term = 0;  ///< change of the population by a moving wall, 6 w_i rho_0 c_i . u_wall; else 0
};

/// A link that copies: population `in` of a cell becomes `other`, which another cell sent, plus a term.
struct CopiedLink {
  Cell cell;
  Heading in;
  Cell other_cell;
  Heading other;
  double term = 0;
};

/// A cell beside bodies with interpolated bounce-back links. A body returns the population that the cell sent to it,
/// less a share of its difference from a second one. That one leaves the cell away from the body or arrives towards it.
struct InterpolatedCell {
  Cell cell;
  std::uint32_t in = 0;  ///< bit i is set if population i comes from a body
  /// bit i is set if the interpolation's second population is the incoming one opposite to i, else the outgoing one i
  std::uint32_t near = 0;
  std::uint32_t first = 0;  ///< index of the cell's first interpolation weight; one weight per population from a body
};

/// A link of a convective side. The population `in` of a cell becomes f(t) = (f(t - 1) + U other) / (1 + U). It goes
/// `share` = U / (1 + U) of the way from its last value to the population `other` that another cell sent.
struct ConvectiveLink {
  Cell cell;
  Heading in;
  Cell other_cell;
  Heading other;
  double share = 0;
};

/// A cell at a pressure boundary: populations that enter are copies from other cells, corrected to the density.
struct PressureCell {
  Cell cell;
  std::uint32_t in = 0;  ///< bit i is set if population i enters through the side
  double excess = 0;     ///< density of the side, less 1
};

/// A cell along a convective side. Its incoming populations relax towards a given density far away: each step adds
/// `rate` times the weight times the density deficit.
struct HeldCell {
  Cell cell;
  std::uint32_t in = 0;  ///< bit i is set if population i enters through the side
  double excess = 0;     ///< density far away, less 1
  double rate = 0;
};

/// A link whose exchange of momentum is a load on a wall or a body; q is the fraction of the link before the surface.
struct LoadLink {
  Cell cell;
  Heading in;
  double q = 0.5;
};

/// A link of a resting wall by two indices of the block's array: the outgoing population is copied to the element of
/// the incoming one. It takes a third of a Link's bytes, and needs no arithmetic.
struct Bounce {
  std::uint32_t sent = 0, read = 0;
};

/// The boundary links of a block that are applied at the same time, in device memory.
struct LinkSpans {
  std::span<const Link> added;
  std::span<const Link> half_way;
  std::span<const Bounce> resting;
  std::span<const CopiedLink> copied;
  std::span<const PressureCell> pressure;
  std::span<const ConvectiveLink> convective;
  std::span<const HeldCell> held;
  std::span<const InterpolatedCell> interpolated;
  const double* shares = nullptr;  ///< interpolation weights, one for each population that a body returns
  /// whether populations at rest absorb the mass error of interpolation, as in closed flows
  bool keep_mass = false;
};

}  // namespace slipstream::lbm
