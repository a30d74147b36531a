// The sender's movers store straight into the target's ghost cells. A ghost is a slot of a ring of one: the target
// opens it at its begin, when everything that read the last values is behind it in stream order.
#include "route/lower.hpp"
#include "route/routes.hpp"

namespace slipstream {
namespace {

class DirectSender final : public Sender {
 public:
  DirectSender(const Message& message, const SendSite& site) : lowering_(site.device, site.legs) {
    for (std::size_t b = 0; b < site.sources.size(); ++b)
      movers.push_back(lowering_.box_to_box(site.sources[b], site.targets[b]));
    before.push_back({site.free, 0, message.target});
    after.push_back(site.full);
  }

 private:
  Lowering lowering_;
};

class DirectReceiver final : public Receiver {
 public:
  DirectReceiver(const Message& message, const ReceiveSite& site) {
    opened.push_back(site.free);
    arrived.push_back({site.full, 0, message.source});
  }
};

class DirectRoute final : public Route {
 public:
  RouteKind kind() const override { return RouteKind::direct; }
  Facts capability() const override {
    return {{"between", "devices of one node with peer access, in or across processes"},
            {"patterns", "any"},
            {"operations", "copy"},
            {"origin of memory", "across processes: shared (host), cudaMalloc (CUDA)"},
            {"ranks per device", "any"},
            {"devices per rank", "any"},
            {"capturable", "yes"}};
  }
  Facts execution() const override {
    return {{"host work in begin", "queues kernels"},
            {"host work in end", "queues kernels"},
            {"holds while waiting", "one thread block"},
            {"in flight at once", "1"},
            {"fields rebindable", "among the field's own copies"},
            {"after a time-out", "old ghost values; the exchange is unusable"}};
  }
  std::string refusal(const Pair& pair) const override {
    if (pair.same_device) return "the blocks lie on one device";
    if (!pair.same_node) return "the devices are on different nodes";
    if (!pair.peer) return "the source's kernels cannot store to the target";
    if (!pair.same_process && !pair.mappable) return "the target's fields cannot be mapped by another process";
    return "";
  }
  bool needs_slot() const override { return false; }
  bool stores_into_fields() const override { return true; }
  bool needs_host() const override { return false; }
  std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const override {
    return std::make_unique<DirectSender>(message, site);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const override {
    return std::make_unique<DirectReceiver>(message, site);
  }
};

}  // namespace

const Route& direct_route() {
  static const DirectRoute route;
  return route;
}

}  // namespace slipstream
