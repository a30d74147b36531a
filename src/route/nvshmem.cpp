// Route between GPUs of one process each. The source packs and puts the values into a receive buffer in the target's
// symmetric memory. The put adds one to a counter, so its arguments stay valid in a graph. The target unpacks.
#include "route/nvshmem.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <slipstream/error.hpp>

#include "machine/records.hpp"
#include "machine/rendezvous.hpp"
#include "mover/lower.hpp"
#include "route/sequence_number.hpp"

namespace slipstream {

SymmetricLayout symmetric_layout(const std::vector<RouteSetup::Letter>& letters) {
  constexpr std::size_t line = 128;  // each counter has a cache line of 128 bytes
  SymmetricLayout layout;
  std::map<int, std::size_t> counters, values;  // bytes used on each device, by counters and by values
  const auto take = [](std::size_t& end, std::size_t bytes) { return std::exchange(end, end + bytes); };
  for (const auto& letter : letters) {
    auto& place = layout.places[{letter.source, letter.target}];
    place.full = take(counters[letter.target], line);
    place.free = take(counters[letter.source], line);
    place.bytes = round_up(with_sequence(letter.bytes), slot_alignment);
    place.slot = take(values[letter.target], place.bytes);
    place.outgoing = take(values[letter.source], place.bytes);
  }
  for (const auto& [device, end] : counters) layout.counter_bytes = std::max(layout.counter_bytes, end);
  layout.counter_bytes = round_up(layout.counter_bytes, slot_alignment);
  layout.bytes = layout.counter_bytes;
  for (const auto& [device, end] : values) layout.bytes = std::max(layout.bytes, layout.counter_bytes + end);
  for (auto& [devices, place] : layout.places) {
    place.slot += layout.counter_bytes;
    place.outgoing += layout.counter_bytes;
  }
  return layout;
}

namespace {

/// Offsets in NVSHMEM memory of a message's counter and receive buffer (`value`), sent to the rank of the other end.
struct ToldEnd {
  int source = 0, target = 0;
  bool of_target = false;
  std::size_t counter = 0, value = 0;
};

}  // namespace

SymmetricLayout agreed_layout(const RouteSetup& setup) {
  SymmetricLayout layout = symmetric_layout(setup.letters);
  const auto rank_of = [&](int device) { return setup.machine.device(device).rank; };
  std::map<int, std::string> ends;
  for (const auto& [devices, place] : layout.places) {
    const auto [source, target] = devices;
    if (rank_of(source) == rank_of(target)) continue;
    const bool target_here = rank_of(target) == setup.comm.rank();
    append_record(ends[rank_of(target_here ? source : target)],
                  target_here ? ToldEnd{source, target, true, place.full, place.slot}
                              : ToldEnd{source, target, false, place.free, 0});
  }
  for (const auto& [rank, text] : rendezvous(*setup.own, std::move(ends), setup.timeout))
    for (const ToldEnd& end : records_of<ToldEnd>({text})) {
      SymmetricLayout::Place& place = layout.places.at({end.source, end.target});
      (end.of_target ? place.full : place.free) = end.counter;
      if (end.of_target) place.slot = end.value;
    }
  layout.bytes = static_cast<std::size_t>(setup.comm.max(static_cast<double>(layout.bytes)));
  return layout;
}

namespace {

/// Addresses of both ends of a message in symmetric memory.
class NvshmemEnd {
 public:
  explicit NvshmemEnd(const Message& message)
      : message(message),
        block(static_cast<NvshmemBlock&>(*message.state)),
        place(block.layout.places.at({message.source, message.target})) {}

  Signal* signal(std::size_t counter) const { return reinterpret_cast<Signal*>(block.at(counter)); }
  std::byte* slot() const { return block.at(place.slot); }
  std::byte* outgoing() const { return block.at(place.outgoing); }
  Signal* sequence(std::byte* values) const { return sequence_of(values, message.bytes); }

  const Message message;
  NvshmemBlock& block;
  const SymmetricLayout::Place place;
};

class NvshmemSender final : public Sender {
 public:
  NvshmemSender(const Message& message, const EndSite& site) : end_(message), lowering_(site.device) {
    std::byte* const packed = end_.outgoing();
    clear_sequence(site.device, packed, message.bytes);
    batches.push_back({.movers = lowering_.to_slot(site.legs, site.sources, {packed, {}}),
                       .before = {{end_.signal(end_.place.free), 1, message.target}},
                       .after = {end_.sequence(packed)}});
    windows = lowering_.windows();
  }

  bool transfers() const override { return true; }
  void transfer(Stream& stream, std::uint64_t) override {
    const Message& m = end_.message;
    end_.block.put(stream, end_.place.slot, end_.outgoing(), with_sequence(m.bytes), end_.place.full, m.target_rank);
  }

  std::int64_t bytes() const override { return lowering_.bytes(); }
  void poison(Stream& stream) override { fill(stream, end_.outgoing(), poison_byte, end_.message.bytes); }

 private:
  NvshmemEnd end_;
  Lowering lowering_;
};

/// Receiver by NVSHMEM. Within a node kernels wait until the receive buffer is full, and mark it free. Between nodes
/// the library does both, and the buffer becomes free at the next begin.
class NvshmemReceiver final : public Receiver {
 public:
  NvshmemReceiver(const Message& message, const EndSite& site)
      : end_(message),
        lowering_(site.device),
        free_(reinterpret_cast<Signal*>(end_.block.mapped(end_.place.free, message.source_rank))) {
    std::byte* const values = end_.slot();
    clear_sequence(site.device, values, message.bytes);
    batches.push_back({.movers = lowering_.unpack(message, site.legs, site.targets, {values, {}}, arrived),
                       .before = {{end_.sequence(values), 0, message.source}}});
    if (!free_) return;
    batches.back().before.push_back({end_.signal(end_.place.full), 0, message.source});
    batches.back().after.push_back(free_);
  }

  void post(Stream& stream, std::uint64_t sequence) override {
    if (!free_ && sequence > 1) end_.block.set(stream, end_.place.free, sequence - 1, end_.message.source_rank);
  }

  bool delivers() const override { return !free_; }
  void deliver(Stream& stream, std::uint64_t sequence) override {
    require(free_ || !stream.capturing(), ErrorCode::unsupported,
            "NVSHMEM does not map a neighbour's memory that this device reaches: capture " +
                std::string("the work around the exchange, or leave the route out"));
    if (!free_) end_.block.wait(stream, end_.place.full, sequence);
  }

  std::int64_t bytes() const override { return lowering_.bytes(); }

 private:
  NvshmemEnd end_;
  Lowering lowering_;
  Signal* free_;  // counter in the source's memory: the receive buffer is free; null between nodes
};

class NvshmemRoute final : public RouteOf<NvshmemSender, NvshmemReceiver> {
 public:
  NvshmemRoute()
      : RouteOf(
            RouteKind::nvshmem, "nvshmem", {},
            {.between = "GPUs of one process each",
             .how = "pack, put with signal into the symmetric heap, unpack",
             .origin_of_memory = "any; messages lie in the library's own heap",
             .ranks_per_device = "1",
             .devices_per_rank = "1",
             .capturable = "where the library maps the source's memory, as on a node; elsewhere no: its waits take the "
                           "number of the exchange as an argument",
             .repeated = "no: the library's work",
             .work_in_begin = "queues kernels, puts and counters",
             .holds = "one thread block; where no memory is mapped the stream, until a thread of the host ends the job",
             .after_timeout = "old ghost values, the exchange is unusable; where no memory is mapped the job ends"}) {}
  std::optional<RouteLibrary> library() const override { return RouteLibrary{"libnvshmem_host.so", nvshmem_missing()}; }
  std::string refusal(const Pair& pair) const override {
    if (pair.host) return "it joins GPUs, and these are devices of the host backend";
    if (!pair.exclusive) return "two ranks share a device";
    if (!pair.one_each) return "some rank drives several devices or none, and the library takes one a process";
    return nvshmem_missing();
  }
  bool capturable(const Pair& pair) const override { return pair.same_node && pair.peer; }
  std::shared_ptr<RouteState> prepare(const RouteSetup& setup) const override { return nvshmem_block(setup); }
};

const NvshmemRoute nvshmem_route;
const KnownRoute nvshmem_is_known(nvshmem_route);

}  // namespace
}  // namespace slipstream
