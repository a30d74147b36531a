#pragma once
// What a gather-scatter runs on a device, beside the exchange of its mailbox.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

#include "exchange/copies.hpp"

namespace slipstream {

/// Values of a component lie `stride` after those of the one before it.
struct Values {
  void* data = nullptr;
  std::int64_t stride = 0;
};

/// The lists of one device, in its memory.
class CopiesOnDevice {
 public:
  CopiesOnDevice(Device device, const Copies& copies);

  /// Throws Error for a type that is moved and not computed with.
  static void require_known(DType type);
  /// Combines the copies in each block of what is sent.
  void pack(Stream& stream, const Values& values, const Values& mailbox, DType type, int components, Op op) const;
  /// Combines ids that no other device has, and writes the result to all copies. `wire`: what the values of blocks that
  /// share an id are rounded to.
  void combine_local(Stream& stream, const Values& values, DType type, Wire wire, int components, Op op) const;
  /// The same for ids of which other devices' values lie in the mailbox, unless they are `broken` (not 0).
  void combine_shared(Stream& stream, const Values& values, const Values& mailbox, const Signal* broken, DType type,
                      Wire wire, int components, Op op) const;

 private:
  template <class Item>
  struct Rows {
    Buffer<std::uint32_t> starts;
    Buffer<Item> items;
    std::int64_t count = 0;
  };
  template <class Item>
  static Rows<Item> uploaded(Stream& stream, const Lists<Item>& lists);

  std::uint32_t block_;
  Rows<std::uint32_t> local_, outgoing_;
  Rows<Term> shared_;
};

}  // namespace slipstream
