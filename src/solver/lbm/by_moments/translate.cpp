#include "solver/lbm/by_moments/translate.hpp"

#include <cstring>

#include "solver/lbm/by_moments/cells.hpp"
#include "solver/lbm/lattice/fields.hpp"

namespace slipstream::lbm {
namespace {

template <class P, class M>
void to_moments(const std::byte* from, std::byte* to, std::int64_t cells) {
  for (std::int64_t n = 0; n < cells; ++n) {
    typename P::Word populations[D3Q19::q];
    std::memcpy(populations, from + n * sizeof(populations), sizeof(populations));
    typename P::Number g[D3Q19::q];
    for (int i = 0; i < D3Q19::q; ++i) g[i] = P::load(populations[i]);
    typename M::Word ten[moment_count];
    store_moments<M>(ten, 1, moments_arrived(g));
    std::memcpy(to + n * sizeof(ten), ten, sizeof(ten));
  }
}

template <class P, class M>
void to_populations(const std::byte* from, std::byte* to, std::int64_t cells) {
  for (std::int64_t n = 0; n < cells; ++n) {
    typename M::Word ten[moment_count];
    std::memcpy(ten, from + n * sizeof(ten), sizeof(ten));
    const Sending<typename M::Number> sent(load_moments<M>(ten, 1), false);
    const typename P::Rounding rounded(sent.template population<0>());
    typename P::Word populations[D3Q19::q];
    unrolled<0, D3Q19::q>([&](auto i) { populations[i()] = rounded(sent.template population<i()>()); });
    std::memcpy(to + n * sizeof(populations), populations, sizeof(populations));
  }
}

template <class P, class M>
Translation translation(Representation to) {
  return to == Representation::moments
             ? Translation{to_string(Representation::populations), D3Q19::q, to_moments<P, M>}
             : Translation{to_string(Representation::moments), moment_count, to_populations<P, M>};
}

}  // namespace

Translation translation_to(Representation representation, DType precision) {
  if (precision == DType::f64) return translation<StoredF64, StoredMoments<double>>(representation);
  if (precision == DType::f32) return translation<StoredF32, StoredMoments<float>>(representation);
  return translation<StoredF16, StoredMomentsF16>(representation);
}

}  // namespace slipstream::lbm
