#include "route/slot_ends.hpp"

namespace slipstream {

SlotSender::SlotSender(const Message& message, const SendSite& site)
    : message_(message),
      lowering_(site.device, site.legs),
      slot_(site.slot),
      ring_(site.ring),
      packed_(site.device, message.bytes) {
  if (!message.codec->identity()) wire_ = Buffer<std::byte>(site.device, message.wire_bytes);
  for (const auto& places : site.sources) movers.push_back(lowering_.to_slot(places, packed_.data(), 0));
  before.push_back({site.free, 2, message.target});
  after.push_back(site.full);
}

void SlotSender::transfer(Stream& stream, std::uint64_t sequence) {
  std::byte* slot = slot_ + (sequence % 2) * ring_;
  if (message_.codec->identity()) {
    copy(stream, slot, packed_.data(), message_.bytes);
  } else {
    message_.codec->encode(stream, packed_.data(), message_.bytes, wire_.data());
    copy(stream, slot, wire_.data(), message_.wire_bytes);
  }
}

SlotReceiver::SlotReceiver(const Message& message, const ReceiveSite& site)
    : message_(message), lowering_(site.device, site.legs), slot_(site.slot), ring_(site.ring) {
  const bool identity = message.codec->identity();
  if (!identity) packed_ = Buffer<std::byte>(site.device, message.bytes);
  for (const auto& places : site.targets)
    movers.push_back(lowering_.from_slot(places, identity ? slot_ : packed_.data(), identity ? ring_ : 0));
  arrived.push_back({site.full, 0, message.source});
  consumed.push_back(site.free);
}

void SlotReceiver::deliver(Stream& stream, std::uint64_t sequence) {
  if (!message_.codec->identity())
    message_.codec->decode(stream, slot_ + (sequence % 2) * ring_, message_.bytes, packed_.data());
}

Route::Facts SlotRoute::execution() const {
  return {{"host work in begin", "queues kernels and copies"},
          {"host work in end", "queues kernels"},
          {"holds while waiting", "one thread block"},
          {"in flight at once", "2"},
          {"fields rebindable", "among the field's own copies"},
          {"after a time-out", "old ghost values; the exchange is unusable"}};
}

std::unique_ptr<Sender> SlotRoute::sender(const Message& message, const SendSite& site) const {
  return std::make_unique<SlotSender>(message, site);
}

std::unique_ptr<Receiver> SlotRoute::receiver(const Message& message, const ReceiveSite& site) const {
  return std::make_unique<SlotReceiver>(message, site);
}

}  // namespace slipstream
