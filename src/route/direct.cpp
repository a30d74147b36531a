// A route on which the source's kernel stores into the target's memory. Long rows go directly into the target's ghost
// cells. The target opens these at begin, once earlier readers have finished in stream order. Thin rows are packed into
// the target's slots. Small messages travel in latency-optimised packets that carry the exchange's number.
#include "route/store_ends.hpp"

namespace slipstream {
namespace {

class DirectRoute final : public Route {
 public:
  RouteKind kind() const override { return RouteKind::direct; }
  std::string name() const override { return "direct"; }
  RouteTraits traits() const override { return {.stores = true, .loops = true, .chunk = true, .in_place = true}; }
  Facts capability() const override {
    return {{"between", "devices of one node with peer access, in or across processes"},
            {"how", "stores to ghosts or slots"},
            {"patterns", "any"},
            {"operations", "all"},
            {"codings", "all, in the kernel that packs"},
            {"origin of memory", "any; ghosts in place: what can be mapped, else through slots"},
            {"ranks per device", "any"},
            {"devices per rank", "any"},
            {"capturable", "yes"},
            {"repeated within a graph", "yes"}};
  }
  Facts execution() const override {
    return {{"host work in begin", "queues kernels"},
            {"host work in end", "queues kernels"},
            {"holds while waiting", "the thread blocks of its launch"},
            {"in flight at once", "1"},
            {"fields rebindable", "yes, by Exchange::bind; between processes values then go through slots"},
            {"after a time-out", "old ghost values; the exchange is unusable"}};
  }
  std::string refusal(const Pair& pair) const override {
    if (pair.same_device) return "the blocks lie on one device";
    if (!pair.same_node) return "the devices are on different nodes";
    if (!pair.peer) return "the source's kernels cannot store to the target";
    return "";
  }
  SlotNeed need(const Message& message, const std::vector<Leg>& legs) const override {
    return store_need(message, legs);
  }
  std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const override {
    return std::make_unique<StoreSender>(message, site);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const override {
    return std::make_unique<StoreReceiver>(message, site);
  }
};

const DirectRoute direct_route;
const KnownRoute direct_is_known(direct_route);

}  // namespace
}  // namespace slipstream
