#pragma once
// Senders and receivers of one device in an exchange, and the launches that run them.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/arrays.hpp"
#include "exchange/coding_errors_kernels.hpp"
#include "exchange/combine.hpp"
#include "exchange/memory.hpp"
#include "exchange/plan.hpp"
#include "exchange/poison.hpp"
#include "exchange/schedule.hpp"

namespace slipstream {

/// Windows (views of target memory) into which the caller's kernels store the values of one field of an exchange.
struct ProducedWindows {
  std::vector<Window> list;    ///< views of target memory, by block of this rank, then by component
  Buffer<Window> table;        ///< copy in device memory of the target views, for the kernels that store values
  Buffer<std::int32_t> first;  ///< for each [block][component]: index of its first view of target memory in `table`
};

/// Times of the encoding and decoding of a message, apart from its transfer.
struct CodingTimes {
  double encode_us = -1, decode_us = -1;
};
/// Times the copies `encoding` that encode a message, and their decoding. Reads the exchange's arrays in place; codes
/// and decoded values go to temporary memory. Blocks until the device is done.
CodingTimes time_coding(Device device, std::vector<Mover> encoding, const Arrays& arrays);

/// Coding errors and times of a message, measured by its sender.
struct MeasuredCoding {
  std::int64_t source = 0, target = 0;  ///< device numbers of the message's source and target
  ErrorSums sums;
  CodingTimes times;
};

/// Senders, receivers and kernel launches of one device. Calls queue work and do not block, unless stated otherwise.
/// Constructor arguments must outlive the object. Streams belong to its device; `number` counts exchanges.
class Launches {
 public:
  Launches(const Plan& plan, ExchangeMemory& memory, ItemArrays& arrays, DeviceMemory& mine);

  // Set-up: first all senders and receivers, by number of their message, then the launches. Throws OutOfMemory.
  void add_sender(std::size_t channel);
  void add_receiver(std::size_t channel);
  /// Creates the kernel launches. `reads`: values that the exchange reads; only needed for the debug mode with NaN.
  void make_programs(const std::optional<Reads>& reads);

  /// Whether the route of some message queues copies or library calls after packing, or (delivers()) before unpacking.
  bool transfers() const { return transfers_; }
  bool delivers() const { return delivers_; }

  /// The exchange's stream, ordered after the caller's stream. join() orders the caller's stream after it.
  Stream& behind(Stream& caller);
  void join(Stream& caller);
  /// First step of an exchange: posts receives, and in debug mode fills their targets with NaN.
  void start(std::uint64_t number, Stream& stream);
  /// Signals to other devices that the caller's kernels may write to this one, and waits for the same from them.
  void open(std::uint64_t number, Stream& stream);
  /// Sends the messages: after start(), or after the caller's kernels if open() came before (`opened`).
  void send(Stream& stream, bool opened);
  void transfer(std::uint64_t number, Stream& stream);
  void receive(std::uint64_t number, Stream& stream);
  /// Sends and receives in one launch. Requires that no route queues work in between, and no debug mode with NaN.
  void run(Stream& stream);
  /// Orders the stream's next work after start() has filled the targets with NaN in debug mode.
  void order_behind_poison(Stream& stream) const { poison_->order(stream); }
  /// Records an event behind the kernels that encode values, if they are queued at begin() or, for `late`, at end().
  void mark_encoded(Stream& stream, bool late);
  bool encoded() const { return encoded_.done(); }

  /// Advances the messages that need the host. Returns true once none needs it any more.
  bool progress(std::uint64_t number);
  /// Names the message for which a sender or receiver waits; empty: none waits.
  std::string waiting_for() const;
  void trace_states() const;
  /// Destroys the senders and receivers.
  void drop_ends();

  /// Writes the microseconds from the beginning of the last exchange to arrival, per channel. Blocks until the device
  /// has finished.
  void arrivals(std::vector<double>& by_channel);
  /// Errors and times of all messages that are coded, if errors are to be measured. Blocks.
  std::vector<MeasuredCoding> measured_codings() const;
  const Poisoning* poison() const { return poison_ ? &*poison_ : nullptr; }
  const std::map<std::size_t, ProducedWindows>& windows() const { return windows_; }
  const DeviceMemory& memory() const { return mine_; }
  const Arrays& arrays() const { return on_.table; }
  /// Bytes of device memory that senders, receivers and launch tables of the exchange take.
  std::int64_t bytes() const;

 private:
  struct Outgoing {
    std::unique_ptr<Sender> end;
    std::size_t channel = 0;
    std::optional<ErrorProbe> probe = {};  // measures errors of the message's coding, if the user's options say so
    std::vector<Mover> encoders = {};      // copies that encode values, without those that round
  };
  struct Incoming {
    std::unique_ptr<Receiver> end;
    std::size_t channel = 0;
    int stamp = 0;  // index of the message's arrival time among the stamps; 0: none
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
  std::deque<EndSite> receive_sites_;  // arguments of the receivers of messages, which keep pointers to these
  std::vector<Outgoing> outgoing_;     // senders, with the farthest target first
  std::vector<Incoming> incoming_;
  Combiner combiner_;
  std::vector<Span<Signal>> counters_;      // counters by which a batch of copies tells later batches that it ended
  std::vector<Span<std::byte>> decodings_;  // memory of decoded values, which are combined later
  std::deque<Leg> decoded_legs_;            // transfers that reduce values decoded from received messages
  /// Batches of copies that combine (such as add) received values, each with the index of its message if it has one.
  std::deque<std::pair<Batch, std::optional<std::size_t>>> combining_;
  Program first_, last_, whole_, opening_;
  std::optional<Poisoning> poison_;
  std::map<std::size_t, ProducedWindows> windows_;  // by exchange item (field): target views for the user's kernels
  bool transfers_ = false, delivers_ = false;
  bool encodes_late_ = false;
};

}  // namespace slipstream
