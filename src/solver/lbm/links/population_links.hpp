#pragma once
// Links of populations that need no sums over a cell's: all lattices share these kernels.
#include "solver/lbm/storage/populations.hpp"

namespace slipstream::lbm {

template <class S>
struct PopulationLinks {
  Headings headings;

  /// Moving walls, and what is copied across sides.
  void known(Stream& stream, const LinkSpans& links, const BlockArrays& b) const;
  void convective(Stream& stream, const LinkSpans& links, const BlockArrays& b) const;
  void interpolated(Stream& stream, const LinkSpans& links, const BlockArrays& b) const;
  /// As that of Kernels.
  void loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
             const BlockArrays& b, double* sums) const;
};

}  // namespace slipstream::lbm
