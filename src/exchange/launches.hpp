#pragma once
// Message ends of one device in an exchange, and the launches that run them.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/arrays.hpp"
#include "exchange/coding_errors_kernels.hpp"
#include "exchange/coding_times.hpp"
#include "exchange/combine.hpp"
#include "exchange/memory.hpp"
#include "exchange/plan.hpp"
#include "exchange/poison.hpp"
#include "exchange/schedule.hpp"

namespace slipstream {

/// Windows into which the caller's kernels store an item's values.
struct ProducedWindows {
  std::vector<Window> list;    ///< by block in the order of Grid::local(), then by component
  Buffer<Window> table;        ///< copy of `list`
  Buffer<std::int32_t> first;  ///< index of the first window per [block][component]
};

/// Coding errors and times of a message, measured by its sender.
struct MeasuredCoding {
  std::int64_t source = 0, target = 0;  ///< devices
  ErrorSums sums;
  CodingTimes times;
};

/// One device of this rank. Calls queue work and do not block, unless stated otherwise. Constructor arguments must
/// outlive the object. Streams belong to its device; `number` is the exchange's number.
class Launches {
 public:
  Launches(const Plan& plan, ExchangeMemory& memory, ItemArrays& arrays, DeviceMemory& mine);

  // Set-up: first all ends, by channel number, then the programs. Throws OutOfMemory.
  void add_sender(std::size_t channel);
  void add_receiver(std::size_t channel);
  /// `reads`: values that the exchange reads; needed for poison.
  void make_programs(const std::optional<Reads>& reads);

  /// Whether ends queue work between sending and arrival. delivers(): only at arrival.
  bool transfers() const { return transfers_; }
  bool delivers() const { return delivers_; }

  /// The exchange's stream, ordered after the caller's. join() orders the caller's after it.
  Stream& behind(Stream& caller);
  void join(Stream& caller);
  /// First step of an exchange: posts receives, and poisons.
  void start(std::uint64_t number, Stream& stream);
  /// Opens the places into which the caller's kernels store.
  void open(std::uint64_t number, Stream& stream);
  /// Sends: after start(), or after the caller's kernels if the exchange was `opened`.
  void send(Stream& stream, bool opened);
  void transfer(std::uint64_t number, Stream& stream);
  void receive(std::uint64_t number, Stream& stream);
  /// Sends and receives in one launch. Requires that no end queues work in between and that nothing is poisoned.
  void run(Stream& stream);
  /// Orders the stream's next work after the poison of start().
  void order_behind_poison(Stream& stream) const { poison_->order(stream); }
  /// Marks the end of the work that encodes values. Parts that run in end() are `late`.
  void mark_encoded(Stream& stream, bool late);
  bool encoded() const { return encoded_.done(); }

  /// Drives ends that need the host. Returns true once none needs it any more.
  bool progress(std::uint64_t number);
  /// Names the end for which some end waits; empty: none waits.
  std::string waiting_for() const;
  void trace_states() const;
  /// Destroys the ends.
  void drop_ends();

  /// Writes the microseconds from the beginning of the last exchange to arrival, per channel. Blocks until the device
  /// has finished.
  void arrivals(std::vector<double>& by_channel);
  /// Errors and times of all senders with codings, if errors are to be measured. Blocks.
  std::vector<MeasuredCoding> measured_codings() const;
  const Poisoning* poison() const { return poison_ ? &*poison_ : nullptr; }
  const std::map<std::size_t, ProducedWindows>& windows() const { return windows_; }
  const DeviceMemory& memory() const { return mine_; }
  const Arrays& arrays() const { return on_.table; }
  /// Bytes of device memory of ends, tables and programs.
  std::int64_t bytes() const;

 private:
  struct Outgoing {
    std::unique_ptr<Sender> end;
    std::size_t channel = 0;
    std::optional<ErrorProbe> probe = {};  // if it codes values and errors are measured
    std::vector<Mover> encoders = {};      // movers that encode, without those that round
  };
  struct Incoming {
    std::unique_ptr<Receiver> end;
    std::size_t channel = 0;
    int stamp = 0;  // index of the arrival time; 0: none
  };

  const Channel& channel_of(std::size_t number) const { return plan_.channels[number]; }
  template <class F>
  void in_room_for_end(const char* doing, std::size_t channel, F make) const;
  Pulse pulse() const;
  EndSite site_of(const Channel& channel);
  std::vector<Wait> waits_for(const std::vector<Batch*>& batches);
  std::vector<Wait> waits_for_packing();
  void decode_apart();
  void combine();
  Schedule schedule_of(const Batch& opening) const;
  void make_windows();
  void make_opening(const Batch& opened);
  void make_probes();
  void measure_errors(Stream& stream) const;

  const Plan& plan_;
  ExchangeMemory& memory_;
  ItemArrays& arrays_;
  DeviceMemory& mine_;
  DeviceArrays& on_;
  Event before_, after_, encoded_;
  Span<std::uint64_t> stamps_;
  std::deque<EndSite> receive_sites_;  // receivers' `arrived` point to their legs
  std::vector<Outgoing> outgoing_;     // farthest first
  std::vector<Incoming> incoming_;
  Combiner combiner_;
  std::vector<Span<Signal>> counters_;  // for waits between batches of one launch
  Span<std::byte> decodings_;           // decoded values that are combined
  std::deque<Leg> decoded_legs_;        // legs of these values
  /// Batches that combine, with the message that a batch reads if it is only one.
  std::deque<std::pair<Batch, std::optional<std::size_t>>> combining_;
  Program first_, last_, whole_, opening_;
  std::optional<Poisoning> poison_;
  std::map<std::size_t, ProducedWindows> windows_;  // of produced items
  bool transfers_ = false, delivers_ = false;
  bool encodes_late_ = false;
};

}  // namespace slipstream
