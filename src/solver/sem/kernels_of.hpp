#pragma once
// Template instantiations of the kernels of an order, for orders_*_kernels.cpp.
#include <algorithm>

#include "solver/sem/advection.hpp"
#include "solver/sem/affine.hpp"
#include "solver/sem/derivatives.hpp"
#include "solver/sem/helmholtz.hpp"
#include "solver/sem/schwarz.hpp"
#include "solver/sem/weak_divergence.hpp"

namespace slipstream::sem {

template <int n, class T = double>
Basis<n, T> basis_of(const Rule& rule) {
  Basis<n, T> basis;
  std::copy_n(rule.derivative.begin(), n * n, basis.d);
  std::copy_n(rule.weights.begin(), n, basis.w);
  for (std::size_t i = 0; i < n; ++i) basis.inverse[i] = static_cast<T>(1 / rule.weights[i]);
  std::copy_n(rule.points.begin(), n, basis.x);
  return basis;
}

template <int n>
Finer<n> finer_of(const FineRule& rule) {
  Finer<n> finer;
  std::copy_n(rule.value.begin(), fine_of<n> * n, finer.value);
  std::copy_n(rule.slope.begin(), fine_of<n> * n, finer.slope);
  std::copy_n(rule.weights.begin(), fine_of<n>, finer.w);
  return finer;
}

template <class Kernel>
void launch_elements(Stream& stream, const Kernel& kernel, std::int64_t elements, int components = 1) {
  launch_teams(stream, components * ((elements + Kernel::per_team - 1) / Kernel::per_team), Kernel::threads,
               Kernel::shared_bytes, kernel);
}

template <int n, Factors form, class T>
struct OperatorOf {
  using Kernel = HelmholtzKernel<n, form, T>;
};
template <int n>
struct OperatorOf<n, Factors::affine, double> {
  using Kernel = AffineKernel<n>;
};
template <int n, Factors form, class T>
using OperatorKernel = typename OperatorOf<n, form, T>::Kernel;

template <int n, Factors form, class T>
void run_helmholtz(Stream& stream, const HelmholtzCallOf<T>& call) {
  using Kernel = OperatorKernel<n, form, T>;
  const T* mass = call.h2 == 0 ? nullptr : call.mass;
  const int words = (form == Factors::stored ? 8 : 2) * Kernel::threads * n;
  launch_elements(stream,
                  Kernel{basis_of<n, T>(*call.rule), call.in, call.factors, mass, call.out, call.h1, call.h2,
                         call.elements, call.list, call.energies, call.components, call.all, words},
                  call.elements, call.components);
}

template <int n, bool bent>
void run_carry(Stream& stream, const FineRule& fine, const CarryCall& call) {
  using Kernel = CarryKernel<n, bent>;
  launch_teams(stream, call.elements, Kernel::threads, Kernel::shared_bytes,
               Kernel{finer_of<n>(fine), call, (bent ? 120 : 30) * Kernel::threads * n});
}

template <int order>
OrderKernels kernels_of() {
  constexpr int n = order + 1;
  OrderKernels kernels;
  kernels.helmholtz = [](Stream& stream, const HelmholtzCall& call) {
    switch (call.form) {
      case Factors::stored:
        return run_helmholtz<n, Factors::stored, double>(stream, call);
      case Factors::affine:
        return run_helmholtz<n, Factors::affine, double>(stream, call);
      case Factors::trilinear:
        return run_helmholtz<n, Factors::trilinear, double>(stream, call);
    }
  };
  kernels.helmholtz_f32 = &run_helmholtz<n, Factors::stored, float>;
  kernels.schwarz = [](Stream& stream, const SchwarzCall& call) {
    using Kernel = SchwarzKernel<n>;
    Kernel kernel{call, 12 * Kernel::threads * n, {}};
    std::copy_n(call.inner, Kernel::m * Kernel::m, kernel.inner);
    launch_elements(stream, kernel, call.elements);
  };
  kernels.derivatives = [](Stream& stream, const DerivativesCall& call) {
    using Kernel = DerivativesKernel<n>;
    launch_elements(stream, Kernel{basis_of<n>(*call.rule), call, 13 * call.components * Kernel::threads * n},
                    call.elements);
  };
  if constexpr (order <= most_advected_order) {
    kernels.weak_divergence = [](Stream& stream, const Rule& rule, const WeakDivergenceCall& call) {
      using Kernel = WeakDivergenceKernel<n>;
      launch_elements(stream, Kernel{basis_of<n>(rule), call, 14 * Kernel::threads * n}, call.elements);
    };
    kernels.fine_points = fine_of<n>;
    kernels.carry = [](Stream& stream, const FineRule& fine, const CarryCall& call) {
      return call.parallelepipeds ? run_carry<n, false>(stream, fine, call) : run_carry<n, true>(stream, fine, call);
    };
    kernels.advect = [](Stream& stream, const FineRule& fine, const AdvectCall& call) {
      using Kernel = AdvectKernel<n>;
      launch_teams(stream, call.elements, Kernel::threads, Kernel::shared_bytes,
                   Kernel{finer_of<n>(fine), call, 30 * Kernel::threads * n});
    };
  }
  return kernels;
}

}  // namespace slipstream::sem
