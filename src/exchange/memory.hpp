#pragma once
// Where messages land: memory for them, and who knows its addresses.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/stream.hpp>

#include "exchange/directory.hpp"
#include "exchange/plan.hpp"

namespace slipstream {

/// Signals from one to the next, so that no two share a cache line.
inline constexpr std::size_t signal_line = 128 / sizeof(Signal);

/// Memory of an exchange on one device of this rank, all of it from the arena of the device.
struct DeviceMemory {
  DeviceMemory(const Plan& plan, int index, Arena arena);

  /// Makes what is small beside slots and buffers of messages; OutOfMemory names it.
  void in_room_for(const char* what, const std::function<void()>& make) const;
  Signal* sequence() const { return signals.data(); }
  Signal* broken() const { return signals.data() + 1; }
  /// Without stamps.
  Pulse pulse() const { return {sequence(), failure.data(), broken(), plan.limit_ns}; }

  const Plan& plan;
  int index;  ///< in the machine's numbering
  Device device;
  Arena arena;
  Stream stream;
  Span<Signal> signals;  ///< the exchange's number and whether a wait gave up, then one per line
  Span<std::byte> slots, host_slots, mapped_host_slots;
  Span<Failure> failure;
};

/// Memory of an exchange on all devices of this rank. The plan must outlive it.
class ExchangeMemory {
 public:
  /// Nothing yet; but devices of this rank reach each other where messages join them.
  ExchangeMemory(const Plan& plan, const Communicator& comm);

  /// Makes counters, which are zero, and the slots of all messages; tells the directory. Throws OutOfMemory, but where
  /// the host memory that processes share has no room.
  void make();
  /// Once ranks have exchanged their directories: whether this one maps all host memory that its messages go to.
  bool maps_hosts();
  /// Finds the words by which other ranks see that they may store no more into fields of this one. Behind that.
  void find_words_of_writers();
  /// The addresses of a message's counters and slots, as a device of this rank reaches them.
  Landing landing_of(const Channel& channel, Device user);

  /// Others that are late may still be about to store into fields of this rank, which its user goes on with: they see
  /// first that they must not. They hold that word until all ranks have parted.
  void revoke() noexcept;
  /// Never frees it: others, who did not part, may still store to it.
  void keep();

  /// Throws not_found where a device is not of this rank.
  DeviceMemory& of(int device) const;

  std::vector<std::unique_ptr<DeviceMemory>> devices;  ///< in the order of streams
  Directory directory;

 private:
  void make_counters_and_slots(DeviceMemory& mine);
  void make_host_slots(DeviceMemory& mine, bool mapped);

  const Plan& plan_;
  std::vector<std::pair<DeviceMemory*, Signal*>> writers_;  // of each word the device that tells
};

}  // namespace slipstream
