#pragma once
// Sender and receiver of the routes kernel and direct: the source's kernel stores into ghosts or receive buffers.

#include "mover/ends.hpp"
#include "mover/lower.hpp"

namespace slipstream {

/// Decides which legs (transfers) are stored in place, and how the others are cut into chunks.
struct StorePlan {
  std::vector<std::size_t> in_place;
  std::vector<Leg> packed;
  std::vector<std::size_t> packed_parent;
  std::shared_ptr<const Cut> cut;
  int depth = 1;      ///< number of slots in the ring of receive buffers
  bool freed = true;  ///< whether the sender must wait for a free receive buffer
  /// Bytes of each of two receive buffers if all values travel in latency-optimised packets, else 0. The target's
  /// message of the last exchange proves that it had emptied the buffer of the exchange before.
  std::size_t packet_bytes = 0;
};
StorePlan store_plan(const Message& message, const std::vector<Leg>& legs);

/// Sizes of the receive buffers and numbers of the counters that a message needs.
SlotNeed store_need(const Message& message, const std::vector<Leg>& legs);

class StoreSender final : public Sender {
 public:
  StoreSender(const Message& message, const EndSite& site);
  std::int64_t bytes() const override { return lowering_.bytes(); }

 private:
  Lowering lowering_;
};

class StoreReceiver final : public Receiver {
 public:
  StoreReceiver(const Message& message, const EndSite& site);
  std::int64_t bytes() const override { return lowering_.bytes(); }
  void poison(Stream& stream) override;

 private:
  Lowering lowering_;
  StorePlan plan_;
  std::byte* slot_;
};

}  // namespace slipstream
