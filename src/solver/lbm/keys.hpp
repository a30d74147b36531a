#pragma once
// Names and keys of the table [lbm] in case files.
#include <utility>

#include <slipstream/lbm.hpp>

#include "solver/common/case_table.hpp"

namespace slipstream::lbm {

inline constexpr std::pair<const char*, Lattice> lattices[] = {
    {"D2Q9", Lattice::d2q9}, {"D3Q19", Lattice::d3q19}, {"D3Q27", Lattice::d3q27}};
inline constexpr std::pair<const char*, Representation> representations[] = {
    {"populations", Representation::populations}, {"moments", Representation::moments}};
inline constexpr std::pair<const char*, Collision> collisions[] = {{"SRT", Collision::srt},
                                                                   {"TRT", Collision::trt},
                                                                   {"MRT", Collision::mrt},
                                                                   {"cumulant", Collision::cumulant},
                                                                   {"regularised", Collision::regularised},
                                                                   {"recursive", Collision::recursive}};
inline constexpr std::pair<const char*, DType> precisions[] = {
    {"f16", DType::f16}, {"f32", DType::f32}, {"f64", DType::f64}};
inline constexpr std::pair<const char*, Streaming> streamings[] = {{"two", Streaming::two},
                                                                   {"in_place", Streaming::in_place}};
inline constexpr std::pair<const char*, Solids> ways_of_solids[] = {
    {"auto", Solids::automatic}, {"dense", Solids::dense}, {"flags", Solids::flags}, {"sparse", Solids::sparse}};
inline constexpr std::pair<const char*, Side> sides[] = {{"x-", Side::x_low}, {"x+", Side::x_high},
                                                         {"y-", Side::y_low}, {"y+", Side::y_high},
                                                         {"z-", Side::z_low}, {"z+", Side::z_high}};

std::vector<CaseTable> case_tables();

}  // namespace slipstream::lbm
