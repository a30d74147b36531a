// Devices of one process: pack, copy engine, unpack.
#include "route/routes.hpp"
#include "route/slot_ends.hpp"

namespace slipstream {
namespace {

class PeerRoute final : public Route {
 public:
  RouteKind kind() const override { return RouteKind::peer; }
  Facts capability() const override {
    return {{"between", "devices of one process with peer access"},
            {"patterns", "any"},
            {"operations", "copy"},
            {"origin of memory", "any"},
            {"ranks per device", "any"},
            {"devices per rank", "2 or more"},
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
    if (pair.same_device) return "the blocks lie on one device";
    if (!pair.same_process) return "the devices belong to different processes";
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

const Route& peer_route() {
  static const PeerRoute route;
  return route;
}

}  // namespace slipstream
