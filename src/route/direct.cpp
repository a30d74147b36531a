// Route in which the source's kernel stores into the target's memory. Long rows go directly into the target's ghost
// cells. The target opens these at begin, once earlier readers have finished in stream order. Thin rows are packed into
// the target's receive buffers. Small messages travel in latency-optimised packets that carry the exchange's number.
#include "route/route.hpp"
#include "route/store_ends.hpp"

namespace slipstream {
namespace {

class DirectRoute final : public RouteOf<StoreSender, StoreReceiver> {
 public:
  DirectRoute()
      : RouteOf(RouteKind::direct, "direct", {.stores = true, .loops = true, .chunk = true, .in_place = true},
                {.between = "devices of one node with peer access, in or across processes",
                 .how = "stores to ghosts or slots",
                 .origin_of_memory = "any; ghosts in place: what can be mapped, else through slots",
                 .holds = "the thread blocks of its launch",
                 .rebindable = "yes, by Exchange::bind; between processes values then go through slots"}) {}
  std::string refusal(const Pair& pair) const override {
    if (pair.same_device) return "the blocks lie on one device";
    if (!pair.same_node) return "the devices are on different nodes";
    if (!pair.peer) return "the source's kernels cannot store to the target";
    return "";
  }
  SlotNeed need(const Message& message, const std::vector<Leg>& legs) const override {
    return store_need(message, legs);
  }
};

const DirectRoute direct_route;
const KnownRoute direct_is_known(direct_route);

}  // namespace
}  // namespace slipstream
