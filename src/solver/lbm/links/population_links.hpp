#pragma once
// Kernels of links that need no sums over a cell's populations, so that all lattices share them.
#include "solver/lbm/storage/populations.hpp"

namespace slipstream::lbm {

template <class S>
struct PopulationLinks {
  Headings headings;

  /// Applies links of moving walls, and links that copy populations across sides.
  void known(Stream& stream, const LinkSpans& links, const BlockArrays& b) const;
  void convective(Stream& stream, const LinkSpans& links, const BlockArrays& b) const;
  void interpolated(Stream& stream, const LinkSpans& links, const BlockArrays& b) const;
  /// Computes forces and moments of links on a surface, as Kernels::loads.
  void loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
             const BlockArrays& b, double* sums) const;
};

}  // namespace slipstream::lbm
