#pragma once

#include "route/route.hpp"

namespace slipstream {

// One file each; none knows another.
const Route& kernel_route();
const Route& direct_route();
const Route& peer_route();
const Route& colocated_route();
const Route& gpu_mpi_route();
const Route& nccl_route();
const Route& nvshmem_route();
const Route& staged_route();

}  // namespace slipstream
