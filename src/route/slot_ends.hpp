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

}  // namespace slipstream
