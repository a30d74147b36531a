#pragma once
// The ends that peer and colocated share: pack here, copy into the target's ring of two slots, unpack there.
#include <slipstream/route.hpp>

#include "route/lower.hpp"

namespace slipstream {

class SlotSender final : public Sender {
 public:
  SlotSender(const Message& message, const SendSite& site);
  void transfer(Stream& stream, std::uint64_t sequence) override;

 private:
  Message message_;
  Lowering lowering_;
  std::byte* slot_;
  std::size_t ring_;
  Buffer<std::byte> packed_, wire_;
};

class SlotReceiver final : public Receiver {
 public:
  SlotReceiver(const Message& message, const ReceiveSite& site);
  void deliver(Stream& stream, std::uint64_t sequence) override;

 private:
  Message message_;
  Lowering lowering_;
  std::byte* slot_;
  std::size_t ring_;
  Buffer<std::byte> packed_;
};

/// A route whose ends these are; what joins its pairs is its own to say.
class SlotRoute : public Route {
 public:
  Facts execution() const override;
  bool needs_slot() const override { return true; }
  bool stores_into_fields() const override { return false; }
  bool needs_host() const override { return false; }
  std::unique_ptr<Sender> sender(const Message& message, const SendSite& site) const override;
  std::unique_ptr<Receiver> receiver(const Message& message, const ReceiveSite& site) const override;
};

}  // namespace slipstream
