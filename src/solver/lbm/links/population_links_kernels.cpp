#include "solver/lbm/links/population_links.hpp"

#include "solver/lbm/links/apply.hpp"

namespace slipstream::lbm {

template <class S>
void PopulationLinks<S>::known(Stream& stream, const LinkSpans& links, const BlockArrays& b) const {
  apply_known(stream, links, AnyPopulations<S>(b, headings), b.together);
}

template <class S>
void PopulationLinks<S>::convective(Stream& stream, const LinkSpans& links, const BlockArrays& b) const {
  apply_convective(stream, links, AnyPopulations<S>(b, headings), b);
}

template <class S>
void PopulationLinks<S>::interpolated(Stream& stream, const LinkSpans& links, const BlockArrays& b) const {
  apply_interpolated(stream, links, AnyPopulations<S>(b, headings), b.together);
}

template <class S>
void PopulationLinks<S>::loads(Together& together, std::span<const LoadLink> links, const std::array<double, 3>& corner,
                               const BlockArrays& b, double* sums) const {
  add_loads(together, links, corner, AnyPopulations<S>(b, headings), sums);
}

template struct PopulationLinks<StoredF16>;
template struct PopulationLinks<StoredF32>;
template struct PopulationLinks<StoredF64>;

}  // namespace slipstream::lbm
