#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <slipstream/coding.hpp>
#include <slipstream/communicator.hpp>
#include <slipstream/error.hpp>
#include <slipstream/field.hpp>
#include <slipstream/pattern.hpp>
#include <slipstream/route.hpp>
#include <slipstream/throttle.hpp>
#include <slipstream/window.hpp>

namespace slipstream {

class Trace;

/// A finite value became infinite in its coding; the error names the item. The value arrives as infinity, and the
/// exchange cannot be begun again.
class Overflow : public Error {
 public:
  explicit Overflow(const std::string& message, Facts facts = {})
      : Error(ErrorCode::overflow, message, std::move(facts)) {}
};

/// The caller's kernels did not store to a place of a window (ExchangeOptions::poison); the error names the place and
/// the item. The old content of that place has been sent.
class Unwritten : public Error {
 public:
  explicit Unwritten(const std::string& message, Facts facts = {})
      : Error(ErrorCode::wrong_state, message, std::move(facts)) {}
};

struct ExchangeOptions {
  /// Routes that may be used. Each pair of devices takes the first, in the order of RouteKind, that can serve it.
  std::vector<RouteKind> routes = all_routes();
  /// Timeout of a wait in seconds: up to 1e9, or infinity. The exchange then throws Timeout. Waits of a library have at
  /// least 60 s in the first exchange, in which NCCL connects the devices. The error's text has the seconds waited.
  double wait_limit = 30;
  Knobs knobs;
  Throttle throttle;  ///< simulated network, for messages between devices and those within a device that the host sends
  /// Routes of pairs of devices (source, target) that a tuner has chosen. They take precedence over the rules.
  std::map<std::pair<int, int>, RouteKind> chosen;
  std::map<std::pair<int, int>, std::string> reasons;  ///< why each pair of devices got its route, for reports
  Trace* trace = nullptr;                              ///< timeline that records the exchange, and must outlive it
  /// Every exchange also computes the coding errors for the report, which costs another read of the values. The report
  /// then times encoding and decoding, too, with memory for one message at a time.
  bool measure_errors = false;
  /// Slow debug mode. It finds reads of values that have not arrived, and caller's kernels that leave places of send
  /// windows unwritten. Before every exchange all bits of targets, messages and windows are set: NaN in floats, -1 in
  /// integers. Before end() only produced values reach a target. The exchange throws Unwritten on all ranks where a
  /// window of floats still has an unwritten place. Sources of the exchange keep their values.
  bool poison = false;
};

/// A communication pattern with the field that its values come from and the field that they go to.
struct ExchangeItem {
  const Pattern* pattern = nullptr;
  Field* source = nullptr;
  Field* target = nullptr;  ///< field that receives the values; null: the source, as for halos
  /// Other arrays may replace the fields' arrays (Exchange::bind). Messages then go through receive buffers, because
  /// other processes know the address of one array only.
  bool rebinds = false;
  /// The coding of values in flight. Values are combined after decoding. Values that stay on their device are rounded
  /// as if they had travelled, so bits do not depend on routes.
  Coding coding = {};
  /// The caller's kernels store the values directly at their destinations (slipstream/window.hpp), between open() and
  /// post(). The source's arrays are never read, and it may have none. Only for transfers between boxes, and raw
  /// values.
  bool produced = false;

  Field& to() const { return target ? *target : *source; }
};
/// The two fields of an item: values are read from the source and stored in the target.
enum class ItemEnd : std::uint8_t { source, target };

/// One message of a plan, for reports and dry runs.
struct MessageInfo {
  int source = 0;  ///< numbers of the source and of the target device
  int target = 0;
  RouteKind route = RouteKind::staged;
  std::string reason;      ///< why this route was chosen and no earlier one
  std::int64_t bytes = 0;  ///< bytes of the message as it travels, coded
  std::int64_t transfers = 0;
  std::int64_t raw_bytes = 0;  ///< bytes of the message's values in the field's own type, uncoded
};

/// One message of the last exchange, as it travelled.
struct ReportRow {
  MessageInfo message;
  int source_rank = 0;
  int target_rank = 0;
  /// Microseconds from the start of the exchange at the target to the message's arrival; -1 before the first exchange.
  double microseconds = -1;
  double gb_per_s = -1;
  /// rate in percent of the link's rate, or within a device of its memory's rate (read + write); -1 where unknown
  double percent = -1;
  /// Largest and root mean square difference between decoded and sent values. Only coded values that are finite before
  /// and after count; of complex numbers both parts. -1 where errors are not measured, or none is coded.
  double largest_error = -1;
  double rms_error = -1;
  /// Microseconds of the launches that encode and decode the message's values, each alone, measured by events. Decoded
  /// values go to a packed array. -1 where errors are not measured, or nothing is encoded.
  double encode_us = -1;
  double decode_us = -1;
};

struct PlannedItem {
  const Pattern* pattern = nullptr;
  FieldOptions source;
  std::optional<FieldOptions> target = {};  ///< field that receives the values; none: the source
  bool rebinds = false;
  Coding coding = {};
  bool produced = false;

  const FieldOptions& to() const { return target ? *target : source; }
};
/// The messages of all ranks that an exchange of these fields would send. Allocates nothing; not collective.
std::vector<MessageInfo> plan_messages(const Grid& grid, const std::vector<PlannedItem>& items,
                                       const ExchangeOptions& options);

/// Patterns of fields, compiled once for the devices of this rank, then run any number of times.
///
/// One object may be used by one host thread at a time. All ranks of the communicator construct it together and call
/// begin and end in the same order. Sources lie on `grid`, targets on the grids of their patterns (Pattern::target).
/// Grids and fields must outlive it. Fields with several copies share an exchange of at most 64 combinations of copies,
/// enough for six fields that swap two arrays each.
///
/// Calls of one exchange run after one another, on any streams.
///
/// Several exchanges may be in flight on a device. Ranks may begin and end them in different orders while a GPU has
/// room for their thread blocks. That is about seven exchanges, of which later ones get fewer blocks. A launch that
/// finds no room follows the launches before it. A run() takes all the room: concurrently with it, all ranks must call
/// exchanges in the same order. The same holds for the routes nccl and nvshmem, and for the collective calls of MPI
/// (Knobs::mpi). It holds for codings and poison, too, where a route needs the host. Graphs that the caller replays are
/// not counted: replay the graphs of one device on one stream.
class Exchange {
 public:
  Exchange(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items, ExchangeOptions options = {});
  /// Collective: waits for this rank's devices and then for the other ranks, whose last stores go to its memory. The
  /// timeout for other ranks is wait_limit, at least 5 s. It is 5 s where a wait has already timed out or an exception
  /// is in flight. Memory that missing ranks may still store to is never freed then. Fields must outlive the
  /// destructor.
  ~Exchange();
  Exchange(Exchange&&) noexcept;

  /// Replaces the arrays of one end of an item by other arrays of the caller, from the next exchange on. `arrays` lists
  /// them as Field::adopt does, for blocks of the same shapes. Their addresses must equal those of the item's field
  /// modulo 16 bytes. Nothing is planned anew, and graphs that hold the exchange use the new arrays, too. The change is
  /// ordered after the work that the streams hold, one for each device of this rank. Throws Error, and changes nothing,
  /// where an array is not on its block's device or the item was not made with `rebinds`.
  void bind(std::size_t item, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams);

  /// Starts the transfer of the fields' current arrays. The caller's stream on the i-th device of this rank is
  /// streams[i]. Sending is ordered after the work that it holds. Returns without waiting for a device, unless
  /// Knobs::sync asks for it. Where the caller has nothing to compute until end(), run() is faster. The launches of
  /// begin() and end() leave most of a GPU to concurrent work, and Knobs::teams may leave more.
  void begin(std::vector<Stream>& streams);
  /// Orders the streams' next work after arrival. Blocks the host only where a route needs it. Elsewhere end() does not
  /// see a timeout of its own exchange: check() does, once the streams are synchronized.
  void end(std::vector<Stream>& streams);
  /// These calls replace begin() and run() for exchanges with produced items. First open() orders the streams' next
  /// work after the destinations have been freed. Then windows() returns the destinations. Finally post() sends the
  /// values that the streams have stored until then, and those that the engine moves itself. Call end() as usual. Waits
  /// that open() queues have the exchange's timeout. After a timeout nothing is stored or posted.
  void open(std::vector<Stream>& streams);
  void post(std::vector<Stream>& streams);
  /// Addresses at which the caller's kernels on a device store the values to send, for an exchanged field whose values
  /// they produce. They are valid between open() and post(), for the arrays that are current then.
  template <class T>
  Windows<T> windows(std::size_t item, Device device) const {
    const WindowTable t = window_table(item, device, dtype_of<T>());
    return {t.all, t.first, t.components, t.arrays, t.broken};
  }
  /// Boxes of a field's values to send, with addresses where the caller's kernels store them, one kernel for each box.
  const std::vector<Window>& window_list(std::size_t item, Device device) const;
  /// Drives routes that need the host, between begin and end; true when they no longer need it.
  bool progress();
  /// Throws Timeout where a wait on a device has timed out in the work that has run so far. Throws Overflow on all
  /// ranks where a value was too large for its item's coding. Collective where an item has a coding and no rank
  /// needs_host(). Call it after the streams have been synchronized behind the last exchange. Other calls throw the
  /// errors that are known by then, too.
  void check();

  /// Does the work of begin() and end() on the caller's own streams. Routes that need neither host nor copy engine take
  /// one launch a device. Other routes without the host are recorded at the first run with these arrays, and replayed
  /// as one graph a device.
  void run(std::vector<Stream>& streams);
  /// Device time in microseconds from the start of the last exchange to the arrival of each message that reaches this
  /// rank. The times are in the order of messages(), below 0 for messages that leave this rank. Waits for the exchange,
  /// and throws Timeout where it failed.
  std::vector<double> arrival_us();

  /// All messages of all ranks with the times of the last exchange, sorted by source and target. Collective; waits.
  /// Throws on all ranks where the exchange failed on one.
  std::vector<ReportRow> report();

  /// Messages that leave or reach this rank's devices.
  const std::vector<MessageInfo>& messages() const;
  /// True where some route blocks the host in end().
  bool needs_host() const;
  /// True where begin, end and run may be recorded into a graph of the caller's streams and replayed. The graph may
  /// outlive the exchange, but must not be replayed after its end. It would store into memory that the arena has given
  /// to another exchange, here and at the neighbours. Graph::launch throws Error then. Graphs that a caller records and
  /// launches with CUDA's own calls are not checked.
  bool capturable() const;
  /// True where waits in a recorded graph have a timeout, too, so that a stopped neighbour is an error. Waits of a
  /// library have no timeout in a graph.
  bool limited_in_graphs() const;
  /// True where a recorded graph may repeat the exchange in a loop whose count is a number on the device. That needs
  /// all messages of all ranks to travel by kernels alone. The same on all ranks.
  bool loopable() const;
  /// A flag in the memory of a device of this rank: 0 until a wait of the exchange times out. Kernels after end() may
  /// read it, so that they do not use values that have not arrived.
  const Signal* broken_on(Device device) const;
  /// Number of exchanges begun so far.
  std::uint64_t sequence() const;
  /// Bytes of device memory that the plan holds on a device of this rank: receive buffers, packed values, tables,
  /// signals. Memory of libraries is not counted.
  std::int64_t bytes_on(Device device) const;

 private:
  struct Impl;
  struct WindowTable {
    const Window* all;
    const std::int32_t* first;
    int components;
    std::byte* const* arrays;
    const Signal* broken;
  };
  WindowTable window_table(std::size_t item, Device device, DType type) const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace slipstream
