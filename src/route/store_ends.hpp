#pragma once
// The ends that kernel and direct share: the sender's teams store into the target's ghosts, or into its slots.

#include "route/ends.hpp"
#include "route/lower.hpp"

namespace slipstream {

/// Which legs go straight into place, and how the others are cut into chunks.
struct StorePlan {
  std::vector<std::size_t> in_place;
  std::vector<Leg> packed;
  std::vector<std::size_t> packed_parent;
  std::shared_ptr<const Cut> cut;
  int depth = 1;      ///< slots in the ring
  bool freed = true;  ///< the sender must ask whether a slot is free
  /// All legs travel in lines that are their own signal, in two slots of so many bytes; 0: they do not. What the other
  /// side answered in the last exchange proves that it had emptied the slot of the one before.
  std::size_t sealed_bytes = 0;
};
StorePlan store_plan(const Message& message, const std::vector<Leg>& legs);

/// Slots and counters of such a message.
SlotNeed store_need(const Message& message, const std::vector<Leg>& legs);

class StoreSender final : public Sender {
 public:
  StoreSender(const Message& message, const SendSite& site);
  std::int64_t bytes() const override { return lowering_.bytes(); }

 private:
  Lowering lowering_;
};

class StoreReceiver final : public Receiver {
 public:
  StoreReceiver(const Message& message, const ReceiveSite& site);
  std::int64_t bytes() const override { return lowering_.bytes(); }
  void poison(Stream& stream) override;

 private:
  Lowering lowering_;
  StorePlan plan_;
  std::byte* slot_;
};

}  // namespace slipstream
