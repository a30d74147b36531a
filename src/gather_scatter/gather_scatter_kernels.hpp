#pragma once
// Kernels of a gather-scatter that run before, after and concurrent with the exchange of its mailbox.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

#include "coding/wire.hpp"
#include "gather_scatter/copies.hpp"
#include "gather_scatter/device_rows.hpp"

namespace slipstream {

/// Values of several components. Each component starts `stride` values after the one before it.
struct Values {
  void* data = nullptr;
  std::int64_t stride = 0;
  bool operator==(const Values&) const = default;
};

/// Combines the values of each row and writes the results to the front of the mailbox.
void pack_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const Values& values, const Values& mailbox,
               DType type, int components, Op op);

/// Writes source[at[r]] to all points of row r, or source[r] if `at` is null. Does nothing if `broken` is given and not
/// 0.
void scatter_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const std::uint32_t* at, const Values& source,
                  const Values& values, const Signal* broken, DType type, int components);

/// The lists of one device, in its memory.
class CopiesOnDevice {
 public:
  /// Takes over the tiles, which are in device memory already.
  CopiesOnDevice(Device device, Copies& copies);

  /// Throws Error for a type without arithmetic.
  static void require_known(DType type);
  /// Combines the copies within each block and writes the values to send.
  void pack(Stream& stream, const Values& values, const Values& mailbox, DType type, int components, Op op) const;
  /// Combines ids that no other device has, and writes the result to all copies. `wire`: the coding to which each
  /// block's value is rounded if several blocks share the id.
  void combine_local(Stream& stream, const Values& values, DType type, const Wire& wire, int components, Op op) const;
  /// The same for ids with values of other devices in the mailbox. Does nothing if the exchange is `broken` (not 0).
  void combine_shared(Stream& stream, const Values& values, const Values& mailbox, const Signal* broken, DType type,
                      const Wire& wire, int components, Op op) const;

 private:
  std::uint32_t block_;
  GroupTiles local_;
  DeviceRows<std::uint32_t> outgoing_;
  DeviceRows<Term> shared_;
};

/// Lists for unique values, in device memory: Q^T and Q alone.
class UniqueOnDevice {
 public:
  UniqueOnDevice(Device device, std::int64_t block, const UniqueCopies& copies);

  /// Combines the copies within each block of ids that other devices own.
  void pack_gathered(Stream& stream, const Values& values, const Values& mailbox, DType type, int components,
                     Op op) const;
  /// Combines the copies of ids that no other device has.
  void gather_own(Stream& stream, const Values& values, const Values& unique, DType type, const Wire& wire,
                  int components, Op op) const;
  /// The same for ids with values of other devices in the mailbox. Does nothing if the exchange is `broken` (not 0).
  void gather_met(Stream& stream, const Values& values, const Values& mailbox, const Values& unique,
                  const Signal* broken, DType type, const Wire& wire, int components, Op op) const;

  void pack_sent(Stream& stream, const Values& unique, const Values& mailbox, DType type, int components) const;
  /// Writes the device's own unique values to their local copies.
  void scatter_own(Stream& stream, const Values& unique, const Values& values, DType type, int components) const;
  /// Writes the received unique values to their local copies, unless the exchange is `broken`.
  void scatter_theirs(Stream& stream, const Values& mailbox, const Values& values, const Signal* broken, DType type,
                      int components) const;

 private:
  std::uint32_t block_;
  DeviceRows<std::uint32_t> own_, met_copies_, gathered_, theirs_;
  DeviceRows<Term> met_;
  Buffer<std::uint32_t> own_at_, met_at_, sent_, theirs_at_;
};

}  // namespace slipstream
