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

/// Arguments of a call on one device.
struct Operands {
  Values points, unique, mailbox;
  DType type = DType::f64;
  int components = 1;
  Op op = Op::add;
  /// Coding to which each block's value is rounded if several blocks share the id.
  Wire wire = Wire::same;
  const Signal* broken = nullptr;  ///< work that needs received values does nothing if this is not 0
};

/// Throws Error for a type without arithmetic.
void require_combinable(DType type);

/// Combines the points of each row, which lie in one block, and writes the results to the front of the mailbox.
void pack_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const Operands& with);
/// Writes value r of the mailbox to all points of row r.
void scatter_rows(Stream& stream, const DeviceRows<std::uint32_t>& rows, const Operands& with);

/// The lists of one device for Q Q^T, in its memory.
class CopiesOnDevice {
 public:
  /// Takes over the tiles, which are in device memory already.
  CopiesOnDevice(Device device, Copies& copies);

  /// Combines the copies within each block and writes the values to send.
  void pack(Stream& stream, const Operands& with) const { pack_rows(stream, outgoing_, with); }
  /// Combines ids that no other device has, and writes the result to all copies.
  void combine_local(Stream& stream, const Operands& with) const;
  /// The same for ids with values of other devices in the mailbox.
  void combine_shared(Stream& stream, const Operands& with) const;

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
  void pack_gathered(Stream& stream, const Operands& with) const { pack_rows(stream, gathered_, with); }
  /// Combines the copies of ids that no other device has.
  void gather_own(Stream& stream, const Operands& with) const;
  /// The same for ids with values of other devices in the mailbox.
  void gather_met(Stream& stream, const Operands& with) const;

  void pack_sent(Stream& stream, const Operands& with) const;
  /// Writes the device's own unique values to their local copies.
  void scatter_own(Stream& stream, const Operands& with) const;
  /// Writes the received unique values to their local copies.
  void scatter_theirs(Stream& stream, const Operands& with) const;

 private:
  std::uint32_t block_;
  DeviceRows<std::uint32_t> own_, met_copies_, gathered_, theirs_;
  DeviceRows<Term> met_;
  Buffer<std::uint32_t> own_at_, met_at_, sent_, theirs_at_;
};

}  // namespace slipstream
