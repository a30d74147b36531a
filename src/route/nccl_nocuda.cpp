#include <slipstream/error.hpp>

#include "route/nccl.hpp"

namespace slipstream {

std::string nccl_missing() { return "this build has no NCCL (needs a CUDA build with nccl.h)"; }
std::shared_ptr<NcclClique> nccl_clique(const RouteSetup&) { throw Error(ErrorCode::unavailable, nccl_missing()); }
std::unique_ptr<RouteGroup> nccl_group() { throw Error(ErrorCode::unavailable, nccl_missing()); }

}  // namespace slipstream
