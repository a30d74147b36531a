#pragma once
// Sender and receiver of the routes peer and colocated. The source packs, the copy engine writes the target's receive
// buffer, and the target unpacks.

#include "mover/lower.hpp"
#include "route/route.hpp"

namespace slipstream {

class CopySender final : public Sender {
 public:
  CopySender(const Message& message, const EndSite& site);
  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t sequence) override;
  void join(Stream& stream) override;
  std::int64_t bytes() const override { return bytes_of(lowering_, packed_); }
  void poison(Stream& stream) override { fill(stream, packed_.data(), poison_byte, packed_.bytes()); }

 private:
  Message message_;
  Lowering lowering_;
  ReceiveBuffer receive_buffer_;
  Pulse pulse_;
  Trace* trace_;
  std::string row_;  // name of the sender's row in the trace
  Span<std::byte> packed_;
  std::unique_ptr<Stream> lane_;
  Event packed_event_, sent_;
};

class CopyReceiver final : public Receiver {
 public:
  CopyReceiver(const Message& message, const EndSite& site);
  bool delivers() const override;
  void deliver(Stream& stream, std::uint64_t sequence) override;
  std::int64_t bytes() const override { return lowering_.bytes(); }
  void poison(Stream& stream) override { fill(stream, slot_, poison_byte, bytes_); }

 private:
  Lowering lowering_;
  std::byte* slot_;
  std::size_t bytes_;
};

/// Base of the routes peer and colocated. Subclasses define which pairs of devices they serve.
class CopyRoute : public RouteOf<CopySender, CopyReceiver> {
 public:
  CopyRoute(RouteKind kind, const char* name, RouteTraits traits, RouteFacts facts = {});
  SlotNeed need(const Message& message, const std::vector<Leg>&) const override {
    return {round_up(message.bytes, slot_alignment), 1, 1, false};
  }
};

}  // namespace slipstream
