#pragma once
// What a gather-scatter runs on a device, beside the exchange of its mailbox.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

#include "coding/wire.hpp"
#include "gather_scatter/copies.hpp"
#include "gather_scatter/device_rows.hpp"

namespace slipstream {

/// Values of a component lie `stride` after those of the one before it.
struct Values {
  void* data = nullptr;
  std::int64_t stride = 0;
  bool operator==(const Values&) const = default;
};

/// Combines the values of each row, into the mailbox's first.
void pack_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const Values& values, const Values& mailbox,
               DType type, int components, Op op);

/// Gives all points of row r the source's value at[r], or its r-th where `at` is null; unless `broken`, which may be
/// null, is not 0.
void scatter_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const std::uint32_t* at, const Values& source,
                  const Values& values, const Signal* broken, DType type, int components);

/// The lists of one device, in its memory.
class CopiesOnDevice {
 public:
  /// Takes over what lies there already.
  CopiesOnDevice(Device device, Copies& copies);

  /// Throws Error for a type that is moved and not computed with.
  static void require_known(DType type);
  /// Combines the copies in each block of what is sent.
  void pack(Stream& stream, const Values& values, const Values& mailbox, DType type, int components, Op op) const;
  /// Combines ids that no other device has, and writes the result to all copies. `wire`: what the values of blocks that
  /// share an id are rounded to.
  void combine_local(Stream& stream, const Values& values, DType type, const Wire& wire, int components, Op op) const;
  /// The same for ids of which other devices' values lie in the mailbox, unless they are `broken` (not 0).
  void combine_shared(Stream& stream, const Values& values, const Values& mailbox, const Signal* broken, DType type,
                      const Wire& wire, int components, Op op) const;

 private:
  std::uint32_t block_;
  GroupTiles local_;
  DeviceRows<std::uint32_t> outgoing_;
  DeviceRows<Term> shared_;
};

/// The same of unique values: Q^T and Q alone.
class UniqueOnDevice {
 public:
  UniqueOnDevice(Device device, std::int64_t block, const UniqueCopies& copies);

  /// Combines the copies in each block of what other devices gather.
  void pack_gathered(Stream& stream, const Values& values, const Values& mailbox, DType type, int components,
                     Op op) const;
  /// Combines the copies of ids that no other device has.
  void gather_own(Stream& stream, const Values& values, const Values& unique, DType type, const Wire& wire,
                  int components, Op op) const;
  /// The same for ids of which other devices' values lie in the mailbox, unless they are `broken` (not 0).
  void gather_met(Stream& stream, const Values& values, const Values& mailbox, const Values& unique,
                  const Signal* broken, DType type, const Wire& wire, int components, Op op) const;

  void pack_sent(Stream& stream, const Values& unique, const Values& mailbox, DType type, int components) const;
  /// Gives the copies here the device's own unique values.
  void scatter_own(Stream& stream, const Values& unique, const Values& values, DType type, int components) const;
  /// And those that came, unless they are `broken`.
  void scatter_theirs(Stream& stream, const Values& mailbox, const Values& values, const Signal* broken, DType type,
                      int components) const;

 private:
  std::uint32_t block_;
  DeviceRows<std::uint32_t> own_, met_copies_, gathered_, theirs_;
  DeviceRows<Term> met_;
  Buffer<std::uint32_t> own_at_, met_at_, sent_, theirs_at_;
};

}  // namespace slipstream
