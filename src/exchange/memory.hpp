#pragma once
// Receive buffers and counters of an exchange, and the directory of their addresses.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/stream.hpp>

#include "exchange/directory.hpp"
#include "exchange/plan.hpp"

namespace slipstream {

/// Distance between signals in an array, in signals, so that no two share a cache line.
inline constexpr std::size_t signal_line = 128 / sizeof(Signal);

/// Memory of an exchange on one device of this rank. All of it comes from the device's arena.
struct DeviceMemory {
  DeviceMemory(const Plan& plan, int index, Arena arena);

  /// Runs `make`, which allocates small objects. If memory runs out, the error OutOfMemory contains the text `what`.
  void in_room_for(const char* what, const std::function<void()>& make) const;
  Signal* sequence() const { return signals.data(); }
  Signal* broken() const { return signals.data() + 1; }
  /// Arguments of every launch: the exchange's number, failure record and timeout, without time stamps.
  Pulse pulse() const { return {sequence(), failure.data(), broken(), plan.limit_ns}; }

  const Plan& plan;
  int index;  ///< number of the device in the machine
  Device device;
  Arena arena;
  Stream stream;
  Span<Signal> signals;  ///< the exchange's number and failure flag, then one signal per cache line
  Span<std::byte> slots, host_slots, mapped_host_slots;
  Span<Failure> failure;
};

/// Memory of an exchange on all devices of this rank. The plan must outlive it.
class ExchangeMemory {
 public:
  /// Allocates nothing yet. Enables peer access between devices of this rank that exchange messages.
  ExchangeMemory(const Plan& plan, const Communicator& comm);

  /// Allocates zeroed counters and the slots of all messages, and publishes them in the directory. Throws OutOfMemory,
  /// except if shared host memory has no room.
  void make();
  /// Whether this rank can map the host memory of other ranks to which its messages go. Call it after the ranks have
  /// exchanged the addresses of their memory.
  bool maps_hosts();
  /// Finds the failure flags of devices on other ranks that store into fields of this rank. Call it after maps_hosts().
  void find_words_of_writers();
  /// Counters and slots (receive buffers) of a message, by addresses that a device of this rank can use.
  ReceiveBuffer receive_buffer_of(const Channel& channel, Device user);

  /// Sets the failure flags of devices on other ranks. Late devices then no longer store into fields of this rank,
  /// which the user may use again. The flags stay mapped until all ranks have left.
  void revoke() noexcept;
  /// Never frees the exchange's memory: ranks that did not end the exchange with the others may still store into it.
  void keep();

  /// Memory of a device. Throws Error (not_found) if the device does not belong to this rank.
  DeviceMemory& of(int device) const;

  std::vector<std::unique_ptr<DeviceMemory>> devices;  ///< memory of each device of this rank, in the order of streams
  Directory directory;

 private:
  void make_counters_and_slots(DeviceMemory& mine);
  void make_host_slots(DeviceMemory& mine, bool mapped);

  const Plan& plan_;
  std::vector<std::pair<DeviceMemory*, Signal*>> writers_;  // local target; flag that tells its remote sender to stop
};

}  // namespace slipstream
