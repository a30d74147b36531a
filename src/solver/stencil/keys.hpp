#pragma once
// Names and keys of the table [stencil] in case files.
#include <cstdint>
#include <utility>

#include <slipstream/stencil_solver.hpp>

#include "solver/common/case_table.hpp"

namespace slipstream::stencil {

inline constexpr std::pair<const char*, Equation> equations[] = {{"heat", Equation::heat}, {"wave", Equation::wave}};
inline constexpr std::pair<const char*, Scheme> schemes[] = {{"explicit", Scheme::forward_euler},
                                                             {"backward_euler", Scheme::backward_euler},
                                                             {"crank_nicolson", Scheme::crank_nicolson}};
inline constexpr std::pair<const char*, Sides> kinds_of_sides[] = {
    {"fixed", Sides::fixed}, {"insulated", Sides::insulated}, {"free", Sides::free}};
inline constexpr std::pair<const char*, DType> precisions[] = {{"f32", DType::f32}, {"f64", DType::f64}};
inline constexpr std::int64_t point_counts[] = {7, 27};
inline constexpr std::int64_t orders[] = {2, 4, 6, 8};

std::vector<CaseTable> case_tables();

}  // namespace slipstream::stencil
