// Route between devices of different processes on one node. The source packs, its copy engine writes the target's
// receive buffer, which it has mapped, and the target unpacks.
#include "route/copy_ends.hpp"

namespace slipstream {
namespace {

class ColocatedRoute final : public CopyRoute {
 public:
  ColocatedRoute()
      : CopyRoute(RouteKind::colocated, "colocated", {.streams = true},
                  {.between = "devices of different processes of one node with peer access",
                   .how = "pack, copy engine into a mapped slot, unpack",
                   .origin_of_memory = "any (only the engine's slots are mapped)"}) {}
  std::string refusal(const Pair& pair) const override {
    if (pair.same_process) return "the devices belong to one process";
    if (!pair.same_node) return "the devices are on different nodes";
    if (!pair.peer) return "the source's kernels cannot store to the target";
    return "";
  }
};

const ColocatedRoute colocated_route;
const KnownRoute colocated_is_known(colocated_route);

}  // namespace
}  // namespace slipstream
