#pragma once
// Every rank tells its neighbours the addresses that they store to, once, at plan time.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <slipstream/buffer.hpp>

#include "machine/parting.hpp"

namespace slipstream {

class Directory {
 public:
  enum class What : std::int32_t { full, free, ready, landed, slot, field, host, broken };
  /// Counters set by `peer` on `device`, `item` is the chunk: full and landed at a receiver, free and ready at a
  /// sender; slot: the ring on `device` for
  /// messages of `peer`; host: the same in pinned host memory; field: array `array` of block `block` of item `item` on
  /// `device` (peer = -1); broken: the word by which `device` sees that it may store no more (peer = -1).
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
  /// `user`: the rank that stores to it. Another one than this maps it.
  void publish(const Key& key, int user, Device device, void* address);
  /// Collective: brings what ranks published to its users, each within so many seconds.
  void exchange(Parting& own, double seconds);
  /// The address as `user`, a device of this rank, can use it; maps it where it belongs to another process.
  void* find(const Key& key, Device user);
  /// Unmaps what find() mapped.
  void release() { imported_.clear(); }

 private:
  struct Record {
    Key key;
    std::int64_t mapped = 0;  ///< where it belongs to another process
    std::uint64_t address = 0;
    MemoryHandle handle;
  };
  std::map<int, std::string> letters_;  // by user
  std::map<Key, Record> known_;
  std::vector<std::shared_ptr<void>> imported_;
  int rank_;
};

}  // namespace slipstream
