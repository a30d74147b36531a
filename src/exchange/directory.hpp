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
  /// Names an address on `device`. `full`, `delivered`: a receiver's counters that `peer` sets, with the chunk in
  /// `item`. `free`, `ready`: those of a sender. `slot`: receive buffers for messages of `peer`; `host`: the same in
  /// pinned host memory. `field`: array `array` of block `block` of `item` (peer = -1). `broken`: failure flag of
  /// `device`; if set, it must not store any more (peer = -1).
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
  /// Sends the published addresses to their users, with a timeout of `seconds`. Collective.
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
