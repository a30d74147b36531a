#pragma once
// Debug mode that marks target memory with NaN. It reveals values read too early or never stored.
#include <optional>
#include <vector>

#include "exchange/arrays.hpp"
#include "exchange/overlaps.hpp"
#include "exchange/poison_kernels.hpp"
#include "mover/program.hpp"

namespace slipstream {

/// Poison (NaN that marks missing values) of one device. Constructor arguments must outlive the object.
class Poisoning {
 public:
  Poisoning(const Plan& plan, ItemArrays& arrays, DeviceArrays& on)
      : plan_(plan), arrays_(arrays), on_(on), filled_(on.memory.device) {}

  /// Stops unpacking copies from signalling that receive buffers are free. release() signals it after writing NaN.
  void hold_release(std::vector<Batch>& batches);
  /// Lists values to fill with NaN: received ones that the exchange does not read, and views for the caller's kernels.
  void make(const std::vector<const Leg*>& received, const std::vector<Window>& windows, const Reads& reads);

  /// Debug mode: writes NaN to the values that will arrive. Called before all other work of an exchange.
  void fill(Stream& stream);
  /// Orders the stream's next work after fill() has written NaN.
  void order(Stream& stream) const { stream.wait(filled_); }
  /// Debug mode: fills windows (views for the caller's kernels) with NaN. look() finds the NaN that these left.
  void fill_windows(Stream& stream) { windows_->fill(stream, on_.memory.broken()); }
  void look(Stream& stream) { windows_->look(stream, on_.memory.broken()); }
  /// Releases slots (receive buffers) to their sources, after they are unpacked and filled with NaN.
  void release(Stream& stream, const Pulse& pulse) const {
    if (!release_.empty()) release_.run(stream, pulse, false);
  }
  /// Counts of the values that this rank's kernels did not store. Valid once look() has run.
  Poison::Left left() const { return windows_->left(); }
  /// Error of an exchange whose kernels left `all` values unwritten. It names the first of this device.
  Unwritten unwritten(std::uint64_t number, std::int64_t all) const;
  std::int64_t bytes() const { return targets_->bytes() + windows_->bytes() + release_.bytes(); }

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
