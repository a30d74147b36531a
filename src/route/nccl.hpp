#pragma once
// The calls of the library NCCL, in a build that has it (nccl_cuda.cpp) or has not (nccl_nocuda.cpp).
#include <memory>
#include <string>

#include "route/route.hpp"

namespace slipstream {

/// Devices that can send to one another in stream order.
class NcclClique : public RouteState {
 public:
  bool waits_for_ever() const override { return true; }
  virtual void send(Stream& stream, const std::byte* from, std::size_t bytes, int source, int target) = 0;
  virtual void receive(Stream& stream, std::byte* to, std::size_t bytes, int source, int target) = 0;
};

/// Empty where the library can be used, else the reason why not.
std::string nccl_missing();
/// Collective.
std::shared_ptr<NcclClique> nccl_clique(const RouteSetup& setup);
/// Calls between its making and close() start together.
std::unique_ptr<RouteGroup> nccl_group();

}  // namespace slipstream
