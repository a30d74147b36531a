// Devices of different processes of one node: pack, copy engine into the neighbour's mapped slot, unpack there.
#include "route/routes.hpp"
#include "route/slot_ends.hpp"

namespace slipstream {
namespace {

class ColocatedRoute final : public Route {
 public:
  RouteKind kind() const override { return RouteKind::colocated; }
  Facts capability() const override {
    return {{"between", "devices of different processes of one node with peer access"},
            {"patterns", "any"},
            {"operations", "copy"},
            {"origin of memory", "any (only the engine's slots are mapped)"},
            {"ranks per device", "any"},
            {"devices per rank", "any"},
            {"capturable", "two parities"}};
  }
  Facts execution() const override {
    return {{"host work in begin", "queues kernels and copies"},
            {"host work in end", "queues kernels"},
            {"holds while waiting", "one thread block"},
            {"in flight at once", "2"},
            {"fields rebindable", "among the field's own copies"},
            {"after a time-out", "old ghost values; the exchange is unusable"}};
  }
  std::string refusal(const Pair& pair) const override {
    if (pair.same_process) return "the devices belong to one process";
    if (!pair.same_node) return "the devices are on different nodes";
    if (!pair.peer) return "the source's kernels cannot store to the target";
    return "";
  }
  bool needs_slot() const override { return true; }
  bool stores_into_fields() const override { return false; }
  bool needs_host() const override { return false; }
  std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const override {
    return std::make_unique<SlotSender>(message, site);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const override {
    return std::make_unique<SlotReceiver>(message, site);
  }
};

}  // namespace

const Route& colocated_route() {
  static const ColocatedRoute route;
  return route;
}

}  // namespace slipstream
