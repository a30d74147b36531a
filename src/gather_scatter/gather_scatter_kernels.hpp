#pragma once
// Kernels of a gather-scatter that run before, after and concurrent with the exchange of its mailbox.
#include <cstdint>

#include <slipstream/buffer.hpp>
#include <slipstream/signal.hpp>
#include <slipstream/stream.hpp>
#include <slipstream/transfer.hpp>

#include "coding/wire.hpp"
#include "gather_scatter/copies.hpp"
#include "gather_scatter/lists.hpp"

namespace slipstream {

/// Values of several components. Each component starts `stride` values after the one before it.
struct Values {
  void* data = nullptr;
  std::int64_t stride = 0;
  bool operator==(const Values&) const = default;
};

/// Arguments of a gather-scatter's call on one device.
struct Operands {
  Values points, unique, mailbox;
  DType type = DType::f64;
  int components = 1;
  Op op = Op::add;
  /// Coding to which the partial result of each block of points is rounded, if several blocks share a point.
  Wire wire = Wire::same;
  const Signal* broken = nullptr;  ///< failure flag: work that needs received values does nothing if it is not 0
};

/// Checks that a number type can be combined. Throws Error for a type without arithmetic.
void require_combinable(DType type);

/// Lists of a gather-scatter in device memory: for each result, the points or received values that are combined to it.
struct ListOnDevice {
  DeviceRows<std::uint32_t> rows = {};
  DeviceRows<Term> terms = {};
  Buffer<std::uint32_t> places = {};  ///< for each list of points with one id, index of their value; empty: 0, 1, ...
  std::uint32_t block = 0;            ///< points per block of the device; 0: each list of copies lies in one block
};

/// Combines the values at the points of each id (row of the list) into one value, such as their sum, stored in `to`.
void combine_to(Stream& stream, const ListOnDevice& list, const Operands& with, const Values& to);
/// Combines the terms of each row (copies and received values) and writes the result to the row's points.
void combine_in_place(Stream& stream, const ListOnDevice& list, const Operands& with);
/// Scatters values: each goes to all points of one id, a row of the list. `received`: they come from other devices.
void spread(Stream& stream, const ListOnDevice& list, const Operands& with, const Values& from, bool received = false);
/// Copies the unique values with the indices `places` to the start of the message buffers (mailbox), to be sent.
void pack_places(Stream& stream, const Buffer<std::uint32_t>& places, const Operands& with);
/// Combines (such as sums) all copies of each point that only this device has. `groups` lists the copies by point.
void combine_groups(Stream& stream, const GroupTiles& groups, std::uint32_t block, const Operands& with);

}  // namespace slipstream
