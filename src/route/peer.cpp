// Route between devices of one process. The source packs, the copy engine writes the target's receive buffer, and the
// target unpacks.
#include "route/copy_ends.hpp"

namespace slipstream {
namespace {

class PeerRoute final : public CopyRoute {
 public:
  PeerRoute()
      : CopyRoute(RouteKind::peer, "peer", {.within_process = true, .streams = true},
                  {.between = "devices of one process with peer access",
                   .how = "pack, copy engine into a slot, unpack",
                   .devices_per_rank = "2 or more"}) {}
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
