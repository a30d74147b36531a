#pragma once
// Poison finds values that are read before they come, or never stored (ExchangeOptions::poison), on one device.
#include <optional>
#include <vector>

#include "exchange/arrays.hpp"
#include "exchange/overlaps.hpp"
#include "exchange/poison_kernels.hpp"
#include "route/program.hpp"

namespace slipstream {

/// The poison of one device. Its arguments must outlive it.
class Poisoning {
 public:
  Poisoning(const Plan& plan, ItemArrays& arrays, DeviceArrays& on)
      : plan_(plan), arrays_(arrays), on_(on), filled_(on.memory.device) {}

  /// Takes from batches that unpack the words that their slots are free: they are, once poisoned, and not before.
  void hold_release(std::vector<Batch>& batches);
  /// Makes the tables: of places that these legs bring values to and that the exchange does not read, and of windows.
  void make(const std::vector<const Leg*>& received, const std::vector<Window>& windows, const Reads& reads);

  /// Poisons the places that values come to, before anything else of an exchange.
  void fill(Stream& stream);
  /// The stream's next work follows that.
  void order(Stream& stream) const { stream.wait(filled_); }
  /// Poisons windows, and looks for what the caller's kernels have left of it.
  void fill_windows(Stream& stream);
  void look(Stream& stream);
  /// Behind what unpacks, and poisons slots: tells their sources that they are free.
  void release(Stream& stream, const Pulse& pulse) const;
  /// Values that this rank's kernels have left, once look() has run.
  Poison::Left left() const { return windows_ ? windows_->left() : Poison::Left{}; }
  /// The error of an exchange, whose devices' kernels left so many values in all, these of this one first.
  Unwritten unwritten(std::uint64_t number, const Poison::Left& left, std::int64_t all) const;
  std::int64_t bytes() const;

 private:
  const Plan& plan_;
  ItemArrays& arrays_;
  DeviceArrays& on_;
  Event filled_;
  Batch held_;
  Program release_;
  std::vector<Buffer<std::int64_t>> lists_;
  std::optional<Poison> targets_, windows_;
};

}  // namespace slipstream
