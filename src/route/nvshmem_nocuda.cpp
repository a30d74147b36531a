#include <slipstream/error.hpp>

#include "route/nvshmem.hpp"

namespace slipstream {

std::string nvshmem_missing() { return "this build has no NVSHMEM (needs a CUDA build with nvshmem_host.h)"; }
std::shared_ptr<NvshmemBlock> nvshmem_block(const RouteSetup&) {
  throw Error(ErrorCode::unavailable, nvshmem_missing());
}

}  // namespace slipstream
