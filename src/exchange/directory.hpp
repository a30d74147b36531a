#pragma once
// Addresses into which devices of neighbours store, exchanged between ranks once at set-up.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <slipstream/buffer.hpp>

#include "machine/private_communicator.hpp"

namespace slipstream {

class Directory {
 public:
  enum class What : std::int32_t { full, free, ready, delivered, slot, field, host, broken };
  /// Names a memory address on `device`, which takes part in a message to or from `peer`. `full`, `delivered`: counters
  /// of the receiver, which `peer` sets. `free`, `ready`: counters of the sender. A chunk `item` has its own `full`,
  /// `free`. `slot`, `host`: receive buffers in device memory, in pinned host memory. `field`: array `array` of block
  /// `block` in exchange item `item` (peer = -1). `broken`: failure flag (peer = -1): if set, `device` stores no more.
  struct Key {
    What what = What::full;
    std::int32_t device = 0;
    std::int32_t peer = -1;
    std::int32_t item = 0;
    std::int32_t array = 0;
    std::int64_t block = 0;
    auto operator<=>(const Key&) const = default;
  };

  explicit Directory(int rank) : rank_(rank) {}
  /// Publishes an address to the rank `user`, which uses it. If that is another rank, it maps the memory.
  void publish(const Key& key, int user, Device device, void* address);
  /// Sends each published memory address to the rank that uses it. Collective, with a timeout of `seconds`.
  void exchange(PrivateCommunicator& own, double seconds);
  /// Address of `key` as `user`, a device of this rank, can use it. Maps the memory if it belongs to another process.
  void* find(const Key& key, Device user);
  /// Unmaps the memory of other processes that find() mapped.
  void release() { imported_.clear(); }

 private:
  struct Record {
    Key key;
    std::int64_t mapped = 0;  ///< 1: the rank that uses this address is another process, which must map the memory
    std::uint64_t address = 0;
    MemoryHandle handle;
  };
  std::map<int, std::string> letters_;  // published addresses in bytes, by the rank that uses them
  std::map<Key, Record> known_;
  std::vector<std::shared_ptr<void>> imported_;
  int rank_;
};

}  // namespace slipstream
