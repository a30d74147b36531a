// Route between devices of one process. The source packs, the copy engine writes the target's slot, and the target
// unpacks.
#include "route/copy_ends.hpp"

namespace slipstream {
namespace {

class PeerRoute final : public CopyRoute {
 public:
  RouteKind kind() const override { return RouteKind::peer; }
  std::string name() const override { return "peer"; }
  RouteTraits traits() const override { return {.within_process = true, .streams = true}; }
  RouteFacts facts() const override {
    RouteFacts facts = CopyRoute::facts();
    facts.between = "devices of one process with peer access";
    facts.how = "pack, copy engine into a slot, unpack";
    facts.devices_per_rank = "2 or more";
    return facts;
  }
  std::string refusal(const Pair& pair) const override {
    if (pair.same_device) return "the blocks lie on one device";
    if (!pair.same_process) return "the devices belong to different processes";
    if (!pair.peer) return "the source's kernels cannot store to the target";
    return "";
  }
};

const PeerRoute peer_route;
const KnownRoute peer_is_known(peer_route);

}  // namespace
}  // namespace slipstream
