#pragma once
// Names and keys of the table [sem] in case files.
#include <cstdint>
#include <utility>

#include <slipstream/sem_flow.hpp>

#include "solver/common/case_table.hpp"

namespace slipstream::sem {

inline constexpr std::pair<const char*, Equation> equations[] = {
    {"poisson", Equation::poisson}, {"helmholtz", Equation::helmholtz}, {"diffusion", Equation::diffusion}};
inline constexpr std::pair<const char*, Factors> kinds_of_factors[] = {
    {"stored", Factors::stored}, {"affine", Factors::affine}, {"trilinear", Factors::trilinear}};
inline constexpr std::pair<const char*, Preconditioner> preconditioners[] = {{"jacobi", Preconditioner::jacobi},
                                                                             {"chebyshev", Preconditioner::chebyshev},
                                                                             {"multigrid", Preconditioner::multigrid},
                                                                             {"schwarz", Preconditioner::schwarz}};
inline constexpr std::pair<const char*, krylov::Method> methods[] = {{"cg", krylov::Method::conjugate_gradients},
                                                                     {"fgmres", krylov::Method::flexible_gmres}};
inline constexpr std::int64_t time_orders[] = {1, 2, 3};
inline constexpr int most_damping = 16;  ///< largest number of explicit steps that damp the velocity's divergence

std::vector<CaseTable> case_tables();

}  // namespace slipstream::sem
