// Route between any two GPUs by NCCL: pack, one send and one receive in stream order, unpack.
#include "route/nccl.hpp"

#include "mover/lower.hpp"
#include "route/sequence_number.hpp"

namespace slipstream {
namespace {

NcclClique& clique_of(const Message& message) { return static_cast<NcclClique&>(*message.state); }

class NcclSender final : public Sender {
 public:
  NcclSender(const Message& message, const EndSite& site)
      : message_(message), lowering_(site.device), wire_(span_with_sequence(site.arena, message.bytes)) {
    batches.push_back({.movers = lowering_.to_slot(site.legs, site.sources, {wire_.data(), {}}),
                       .after = {sequence_of(wire_.data(), message.bytes)}});
    windows = lowering_.windows();
  }

  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t) override {
    clique_of(message_).send(stream, wire_.data(), with_sequence(message_.bytes), message_.source, message_.target);
  }

  std::int64_t bytes() const override { return bytes_of(lowering_, wire_); }
  void poison(Stream& stream) override { fill(stream, wire_.data(), poison_byte, message_.bytes); }

 private:
  Message message_;
  Lowering lowering_;
  Span<std::byte> wire_;
};

/// Receiver by NCCL. The stream orders unpacking after the receive, and the next receive after it, without a counter.
class NcclReceiver final : public Receiver {
 public:
  NcclReceiver(const Message& message, const EndSite& site)
      : message_(message), lowering_(site.device), wire_(span_with_sequence(site.arena, message.bytes)) {
    batches.push_back({.movers = lowering_.unpack(message, site.legs, site.targets, {wire_.data(), {}}, arrived),
                       .before = {{sequence_of(wire_.data(), message.bytes), 0, message.source}}});
  }

  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t) override {
    clique_of(message_).receive(stream, wire_.data(), with_sequence(message_.bytes), message_.source, message_.target);
  }

  std::int64_t bytes() const override { return bytes_of(lowering_, wire_); }
  void poison(Stream& stream) override { fill(stream, wire_.data(), poison_byte, message_.bytes); }

 private:
  Message message_;
  Lowering lowering_;
  Span<std::byte> wire_;
};

class NcclRoute final : public RouteOf<NcclSender, NcclReceiver> {
 public:
  NcclRoute()
      : RouteOf(RouteKind::nccl, "nccl", {},
                {.between = "any two GPUs",
                 .how = "pack, NCCL's send and receive, unpack",
                 .ranks_per_device = "1",
                 .repeated = "no: the library's work",
                 .work_in_begin = "queues kernels, sends and receives; connects pairs in the first exchange",
                 .holds = "the library's thread blocks, until a thread of the host ends them",
                 .after_timeout =
                     "undefined ghost values; nothing of the library's works any more, and a graph of the caller's "
                     "hangs"}) {}
  std::optional<RouteLibrary> library() const override { return RouteLibrary{"libnccl.so", nccl_missing()}; }
  std::string refusal(const Pair& pair) const override {
    if (pair.host) return "it joins GPUs, and these are devices of the host backend";
    if (!pair.unshared) return "two ranks share a device";
    return nccl_missing();
  }
  bool limited_in_graphs(const Pair&) const override { return false; }
  std::shared_ptr<RouteState> prepare(const RouteSetup& setup) const override { return nccl_clique(setup); }
  std::unique_ptr<RouteGroup> open_group() const override { return nccl_group(); }
};

const NcclRoute nccl_route;
const KnownRoute nccl_is_known(nccl_route);

}  // namespace
}  // namespace slipstream
