// Same device: the movers copy from block to block; stream order is all the order there is.
#include "route/lower.hpp"
#include "route/routes.hpp"

namespace slipstream {
namespace {

class KernelSender final : public Sender {
 public:
  explicit KernelSender(const SendSite& site) : lowering_(site.device, site.legs) {
    for (std::size_t b = 0; b < site.sources.size(); ++b)
      movers.push_back(lowering_.box_to_box(site.sources[b], site.targets[b]));
  }

 private:
  Lowering lowering_;
};

class KernelRoute final : public Route {
 public:
  RouteKind kind() const override { return RouteKind::kernel; }
  Facts capability() const override {
    return {{"between", "blocks of one device in one process"},
            {"patterns", "any"},
            {"operations", "copy"},
            {"origin of memory", "any"},
            {"ranks per device", "any"},
            {"devices per rank", "any"},
            {"capturable", "yes"}};
  }
  Facts execution() const override {
    return {{"host work in begin", "queues kernels"},
            {"host work in end", "none"},
            {"holds while waiting", "nothing"},
            {"in flight at once", "1"},
            {"fields rebindable", "among the field's own copies"},
            {"after a time-out", "cannot time out"}};
  }
  std::string refusal(const Pair& pair) const override {
    return pair.same_device ? "" : "the blocks lie on different devices";
  }
  bool needs_slot() const override { return false; }
  bool stores_into_fields() const override { return true; }
  bool needs_host() const override { return false; }
  std::unique_ptr<Sender> sender(const Message&, const SendSite& site) const override {
    return std::make_unique<KernelSender>(site);
  }
  std::unique_ptr<Receiver> receiver(const Message&, const ReceiveSite&) const override {
    return std::make_unique<Receiver>();
  }
};

}  // namespace

const Route& kernel_route() {
  static const KernelRoute route;
  return route;
}

}  // namespace slipstream
