#pragma once
#include <deque>

#include <slipstream/route.hpp>

namespace slipstream {

/// Turns the legs of a message into movers; owns the id lists that they point to, in device memory.
class Lowering {
 public:
  Lowering(Device device, const std::vector<Leg>& legs) : device_(device), legs_(legs) {}

  using Places = std::vector<Place>;
  std::vector<Mover> box_to_box(const Places& sources, const Places& targets);
  /// To or from the packed message at `slot`; `ring` is added in odd sequences.
  std::vector<Mover> to_slot(const Places& sources, std::byte* slot, std::size_t ring);
  std::vector<Mover> from_slot(const Places& targets, const std::byte* slot, std::size_t ring);

 private:
  struct End;
  End field_end(const Leg& leg, const IndexSet& set, const Place& place);
  End slot_end(const Leg& leg, const IndexSet& set, std::byte* slot, std::size_t ring);
  static void join(const End& source, const End& target, const Leg& leg, std::vector<Mover>& movers);

  Device device_;
  std::vector<Leg> legs_;
  std::deque<Buffer<std::int64_t>> lists_;
};

}  // namespace slipstream
