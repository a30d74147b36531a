// Route within a device. Kernels copy from block to block, ordered by the stream alone. Values that are combined go
// through receive buffers, as those from other devices do: all are read before any target changes.
#include "route/route.hpp"
#include "route/store_ends.hpp"

namespace slipstream {
namespace {

class KernelSender final : public Sender {
 public:
  KernelSender(const Message& message, const EndSite& site) : lowering_(site.device) {
    batches.push_back({.movers = lowering_.box_to_box(site.legs, site.sources, site.targets), .late = message.poison});
    windows = lowering_.windows();
  }

 private:
  Lowering lowering_;
};

class KernelRoute final : public Route {
 public:
  KernelRoute()
      : Route(RouteKind::kernel, "kernel",
              {.within_device = true, .within_process = true, .stores = true, .loops = true},
              {.between = "blocks of one device in one process",
               .how = "movers copy",
               .codings = "all: values are rounded as if they had travelled",
               .work_in_end = "none",
               .holds = "nothing",
               .after_timeout = "cannot time out"}) {}
  std::string refusal(const Pair& pair) const override {
    return pair.same_device ? "" : "the blocks lie on different devices";
  }
  SlotNeed need(const Message& message, const std::vector<Leg>& legs) const override {
    if (message.through_slots()) return store_need(message, legs);
    return {0, 1, 0, true};
  }
  std::unique_ptr<Sender> sender(const Message& message, const EndSite& site) const override {
    if (message.through_slots()) return std::make_unique<StoreSender>(message, site);
    return std::make_unique<KernelSender>(message, site);
  }
  std::unique_ptr<Receiver> receiver(const Message& message, const EndSite& site) const override {
    if (message.through_slots()) return std::make_unique<StoreReceiver>(message, site);
    return std::make_unique<Receiver>();
  }
};

const KernelRoute kernel_route;
const KnownRoute kernel_is_known(kernel_route);

}  // namespace
}  // namespace slipstream
