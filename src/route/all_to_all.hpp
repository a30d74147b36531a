#pragma once
// Messages of a route that travel in one MPI call for all ranks.
#include <memory>
#include <string>

#include "machine/gpu_mpi.hpp"
#include "mover/route_state.hpp"

namespace slipstream {

/// Tests an MPI call for all ranks on device memory. Returns why it does not work, the same text on all ranks; empty if
/// small and large messages arrived intact. The test is needed because a library with support for device memory may
/// still corrupt data or crash in windows. Collective.
std::string try_calls(const RouteSetup& setup, Liar liar = nullptr);

/// Sends a route's messages by one MPI all-to-all call; null if options ask for sends or all stay local. Collective.
std::shared_ptr<RouteState> all_to_all_mail(const RouteSetup& setup, bool staged);

}  // namespace slipstream
