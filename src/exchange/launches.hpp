#pragma once
// One device in an exchange: the ends of its messages, and the launches that run them.
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

/// Where the caller's kernels store an item's values.
struct ProducedWindows {
  std::vector<Window> list;    ///< by block in the order of Grid::local(), then by component
  Buffer<Window> table;        ///< the same
  Buffer<std::int32_t> first;  ///< of [block][component]
};

/// Errors and times of the coding of a message, which its sender knows.
struct MeasuredCoding {
  std::int64_t source = 0, target = 0;  ///< devices
  ErrorSums sums;
  CodingTimes times;
};

/// One device of this rank. Every call queues work and waits for nothing, but where it says so. Its arguments
/// must outlive it. Streams are on its device, `number` is that of the exchange.
class Launches {
 public:
  Launches(const Plan& plan, ExchangeMemory& memory, ItemArrays& arrays, DeviceMemory& mine);

  // Set-up: all ends, by the number of their channel, then the programs. Throw OutOfMemory.
  void add_sender(std::size_t channel);
  void add_receiver(std::size_t channel);
  /// `reads`: of the exchange, where it poisons.
  void make_programs(const std::optional<Reads>& reads);

  /// Whether ends queue work between sending and arrival, and whether it is there alone.
  bool transfers() const { return transfers_; }
  bool delivers() const { return delivers_; }

  /// The engine's stream, behind what the caller's holds; and the caller's behind that.
  Stream& behind(Stream& caller);
  void join(Stream& caller);
  /// The first of an exchange: posts receives, and poisons.
  void start(std::uint64_t number, Stream& stream);
  /// Opens the places that the caller's kernels store to.
  void open(std::uint64_t number, Stream& stream);
  /// Sends, behind start() or, where the exchange was `opened`, behind the caller's kernels.
  void send(Stream& stream, bool opened);
  void transfer(std::uint64_t number, Stream& stream);
  void receive(std::uint64_t number, Stream& stream);
  /// Sends and receives in one launch: where ends queue nothing between, and nothing is poisoned.
  void run(Stream& stream);
  /// The stream's next work follows what start() poisoned.
  void order_behind_poison(Stream& stream) const { poison_->order(stream); }
  /// Marks the end of all that encodes values, of which a part may begin `late`, at end().
  void mark_encoded(Stream& stream, bool late);
  bool encoded() const { return encoded_.done(); }

  /// Drives ends that need the host; true when they need it no more.
  bool progress(std::uint64_t number);
  /// Names whom some end waits for; empty: nobody.
  std::string waiting_for() const;
  void trace_states() const;
  /// Lets go of the ends.
  void drop_ends();

  /// Microseconds from the beginning of the last exchange to arrival, into the places of channels. Waits for the
  /// device.
  void arrivals(std::vector<double>& by_channel);
  /// Measures senders whose values are coded, where errors are wanted; waits.
  std::vector<MeasuredCoding> measured_codings() const;
  const Poisoning* poison() const { return poison_ ? &*poison_ : nullptr; }
  const std::map<std::size_t, ProducedWindows>& windows() const { return windows_; }
  const DeviceMemory& memory() const { return mine_; }
  const Arrays& arrays() const { return on_.table; }
  /// Bytes of device memory that ends, tables and programs hold.
  std::int64_t bytes() const;

 private:
  struct Outgoing {
    std::unique_ptr<Sender> end;
    std::size_t channel = 0;
    std::optional<ErrorProbe> probe = {};  // where it codes values whose errors are measured
    std::vector<Mover> encoders = {};      // and what encodes these for the way
  };
  struct Incoming {
    std::unique_ptr<Receiver> end;
    std::size_t channel = 0;
    int stamp = 0;  // of arrival; 0: none
  };

  const Channel& channel_of(std::size_t number) const { return plan_.channels[number]; }
  template <class F>
  void in_room_for_end(const char* doing, std::size_t channel, F make) const;
  Pulse pulse() const;
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
  std::deque<ReceiveSite> receive_sites_;  // receivers' `arrived` point to their legs
  std::vector<Outgoing> outgoing_;         // farthest first
  std::vector<Incoming> incoming_;
  Combiner combiner_;
  std::vector<Span<Signal>> counters_;  // by which batches of one launch wait for others of it
  Span<std::byte> decodings_;           // of values that are combined
  std::deque<Leg> decoded_legs_;        // and what these are
  std::optional<Batch> combining_;
  Program first_, last_, whole_, gates_, opening_;
  std::optional<Poisoning> poison_;
  std::map<std::size_t, ProducedWindows> windows_;  // of items that are produced
  bool transfers_ = false, delivers_ = false;
  bool encodes_late_ = false;
};

}  // namespace slipstream
