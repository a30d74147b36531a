#pragma once
// Names and keys of the table [dns] in case files.
#include <utility>

#include <slipstream/dns.hpp>

#include "solver/common/case_table.hpp"

namespace slipstream::dns {

inline constexpr std::pair<const char*, Scheme> schemes[] = {{"rk2", Scheme::rk2}, {"rk4", Scheme::rk4}};
inline constexpr std::pair<const char*, Dealiasing> dealiasings[] = {{"two_thirds", Dealiasing::two_thirds},
                                                                     {"spherical", Dealiasing::spherical},
                                                                     {"phase_shift", Dealiasing::phase_shift}};
inline constexpr std::pair<const char*, Forcing::Kind> forcings[] = {
    {"power", Forcing::Kind::power}, {"energy", Forcing::Kind::energy}, {"stochastic", Forcing::Kind::stochastic}};
inline constexpr std::pair<const char*, DType> precisions[] = {{"f32", DType::f32}, {"f64", DType::f64}};

std::vector<CaseTable> case_tables();

}  // namespace slipstream::dns
