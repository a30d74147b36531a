#pragma once
// Interface to the library NCCL. A build with NCCL uses nccl_cuda.cpp, others use nccl_nocuda.cpp.
#include <memory>
#include <string>

#include "route/route.hpp"

namespace slipstream {

/// NCCL communicator of a set of devices, for sends and receives in stream order.
class NcclClique : public RouteState {
 public:
  bool waits_for_ever() const override { return true; }
  virtual void send(Stream& stream, const std::byte* from, std::size_t bytes, int source, int target) = 0;
  virtual void receive(Stream& stream, std::byte* to, std::size_t bytes, int source, int target) = 0;
};

/// Reason why NCCL cannot be used; empty if it can.
std::string nccl_missing();
/// Makes the NCCL communicator of the devices that use the route. Collective.
std::shared_ptr<NcclClique> nccl_clique(const RouteSetup& setup);
/// Makes a group: NCCL's calls between construction and close() start together.
std::unique_ptr<RouteGroup> nccl_group();

}  // namespace slipstream
