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

/// A finite value that is infinite in the coding that it should travel in; names the item. It arrives as infinite, and
/// the exchange goes on to say so.
class Overflow : public Error {
 public:
  explicit Overflow(const std::string& message, Facts facts = {})
      : Error(ErrorCode::overflow, message, std::move(facts)) {}
};

/// A place of a window that the caller's kernels did not store to (ExchangeOptions::poison); names it and the item.
/// What was there has been sent.
class Unwritten : public Error {
 public:
  explicit Unwritten(const std::string& message, Facts facts = {})
      : Error(ErrorCode::wrong_state, message, std::move(facts)) {}
};

struct ExchangeOptions {
  /// Routes that may be used; for each pair of devices the first, in the order of RouteKind, that can serve it.
  std::vector<RouteKind> routes = all_routes();
  /// Seconds after which a wait gives up and the exchange throws Timeout: up to 1e9, or infinity. Waits of a
  /// library have at least 60 in the first exchange, in which NCCL connects the devices; the text has those waited.
  double wait_limit = 30;
  Knobs knobs;
  Throttle throttle;  ///< of all messages between devices, and of those within one that the host sends
  /// Given routes for pairs of devices (source, target), before the rules: what a tuner found.
  std::map<std::pair<int, int>, RouteKind> chosen;
  std::map<std::pair<int, int>, std::string> reasons;  ///< why, for reports
  Trace* trace = nullptr;                              ///< records what the exchange does; must outlive it
  /// Every exchange also finds how far coded values are from what they were, for the report: as if they were read
  /// twice. The report then times encoding and decoding, too, with memory for one message at a time.
  bool measure_errors = false;
  /// Finds who reads what has not arrived, and kernels that do not store all of their windows. Before every exchange
  /// all bits of what it brings are set, in the targets, the messages and the windows: of floats that is no number, of
  /// integers -1. Nothing but what is produced reaches a target before end(). end() throws Unwritten on all ranks where
  /// a place of a window of floats still holds the poison. What the exchange itself reads is not poisoned. Slow.
  bool poison = false;
};

/// A pattern, the field that its values come from, and the one that they go to.
struct ExchangeItem {
  const Pattern* pattern = nullptr;
  Field* source = nullptr;
  Field* target = nullptr;  ///< null: the source, as of halos
  /// Other arrays may take the places of the fields' (Exchange::bind). Other processes then store into slots alone, for
  /// they know one array of it only.
  bool rebinds = false;
  /// How the values are written in flight. What is combined is read as it was decoded, and values that stay on their
  /// device are rounded as if they had travelled: bits do not depend on routes.
  Coding coding = {};
  /// The caller's kernels store its values where they must go (slipstream/window.hpp), between open() and post(): the
  /// source's arrays are never read, and it may have none. Between boxes, and raw.
  bool produced = false;

  Field& to() const { return target ? *target : *source; }
};
/// The ends of an item.
enum class ItemEnd : std::uint8_t { source, target };

/// One message of a plan, for reports and dry runs.
struct MessageInfo {
  int source = 0;  ///< devices
  int target = 0;
  RouteKind route = RouteKind::staged;
  std::string reason;      ///< why this route and none before it
  std::int64_t bytes = 0;  ///< as they travel
  std::int64_t transfers = 0;
  std::int64_t raw_bytes = 0;  ///< as the values lie in fields
};

/// One message of the last exchange, as it travelled.
struct ReportRow {
  MessageInfo message;
  int source_rank = 0;
  int target_rank = 0;
  /// From the exchange's beginning at the target to arrival; -1 before the first exchange.
  double microseconds = -1;
  double gb_per_s = -1;
  double percent = -1;  ///< of the link's rate, on one device of its memory's (read + write); -1 where it is not known
  /// Largest and root mean square difference of what is decoded from what was sent, over its coded values (of complex
  /// numbers, over both parts) that are finite before and after; -1 where they are not measured, or none is coded.
  double largest_error = -1;
  double rms_error = -1;
  /// The launches that encode and decode its values, alone, by events. Decoded values are laid side by side. Where
  /// errors are not measured, or nothing is encoded on its way: -1.
  double encode_us = -1;
  double decode_us = -1;
};

struct PlannedItem {
  const Pattern* pattern = nullptr;
  FieldOptions source;
  std::optional<FieldOptions> target = {};  ///< none: the source
  bool rebinds = false;
  Coding coding = {};
  bool produced = false;

  const FieldOptions& to() const { return target ? *target : source; }
};
/// The messages of all ranks that an exchange of these fields would send. Allocates nothing and talks to nobody.
std::vector<MessageInfo> plan_messages(const Grid& grid, const std::vector<PlannedItem>& items,
                                       const ExchangeOptions& options);

/// Patterns of fields compiled once, for the devices of this rank; begin and end a million times.
///
/// One object may be used by one host thread at a time. All ranks of the communicator construct it together and call
/// begin and end in the same order. Sources lie on `grid`, targets on what their patterns make of it. Grids and fields
/// must outlive it. Fields that have copies share an exchange
/// of at most 64 combinations of them, so that six that swap between two arrays may.
///
/// Calls of one exchange run after one another, whatever streams they come on.
///
/// Several exchanges may be in flight on a device. Ranks may begin and end them in differing orders while a GPU has
/// room for their thread blocks: for about seven, of which later ones get fewer blocks. A launch that finds no room
/// follows the launches before it. A run() takes all the room: beside it, all ranks must call exchanges in the same
/// order. The same holds for the routes nccl and nvshmem, for the collective calls of MPI (Knobs::mpi), and for codings
/// and poison where a route needs the host. Graphs that the caller replays are not counted: replay those of one device
/// on one stream.
class Exchange {
 public:
  Exchange(const Communicator& comm, const Grid& grid, std::vector<ExchangeItem> items, ExchangeOptions options = {});
  /// Collective, too: waits for this rank's devices and then for the other ranks, whose last stores go to its memory.
  /// For ranks that do not come it waits for wait_limit, at least 5 s, and only these where a wait has given up or an
  /// exception is under way; the memory that they may still store to is never freed then. Fields must outlive that.
  ~Exchange();
  Exchange(Exchange&&) noexcept;

  /// From the next exchange on, an item's values come from, or go to, other arrays of the caller's: `arrays` lists them
  /// as Field::adopt does, for blocks of the same shapes. Their addresses must have the same rest by 16 bytes as those
  /// that the item's field has. Nothing is planned anew, and graphs that hold the exchange take the new arrays, too:
  /// the change is ordered behind what the streams hold, one for each device of this rank. Throws Error, and changes
  /// nothing, where an array is not on its block's device or the item was not made to be bound anew.
  void bind(std::size_t item, ItemEnd end, const std::vector<void*>& arrays, std::vector<Stream>& streams);

  /// Starts moving the fields' current arrays. streams[i] is the caller's stream on the i-th device of this rank:
  /// sending is ordered after what the stream holds. Returns without waiting for a device, but where Knobs::sync asks
  /// for it. Where the caller has nothing to compute until end(), run() is faster: the launches of begin() and end()
  /// leave most of a GPU to what runs beside them, and Knobs::teams may leave more.
  void begin(std::vector<Stream>& streams);
  /// Orders the streams' next work after arrival. Blocks the host only where a route needs it. Elsewhere it does not
  /// see a time-out of its own: check() does, once the streams are synchronized.
  void end(std::vector<Stream>& streams);
  /// Of an exchange with items that the caller's kernels produce, in the place of begin() and run(): open() orders the
  /// streams' next work after their places have been freed, windows() hands them out, and post() sends what the streams
  /// have stored until then, with what the engine moves itself. Then end(), as ever. Waits that open() queues have the
  /// exchange's limit; where one gives up, nothing is stored, and nothing posted.
  void open(std::vector<Stream>& streams);
  void post(std::vector<Stream>& streams);
  /// Of a produced item, for kernels of a device of this rank; between open() and post(), with the arrays that are
  /// current then.
  template <class T>
  Windows<T> windows(std::size_t item, Device device) const {
    const WindowTable t = window_table(item, device, dtype_of<T>());
    return {t.all, t.first, t.components, t.arrays, t.broken};
  }
  /// What stands in windows(), in its order: for a launch for each of them.
  const std::vector<Window>& window_list(std::size_t item, Device device) const;
  /// Drives routes that need the host, between begin and end; true when they need it no more.
  bool progress();
  /// Throws Timeout where a wait gave up on a device in what has run so far, and Overflow where a value was too large
  /// for its item's coding, on all ranks: collective where an item has one and no rank needs_host(). Call it after the
  /// streams have been synchronized behind the last exchange. Other calls throw what is known by then, too.
  void check();

  /// begin and end on the caller's own streams. Routes that need neither host nor copy engine take one launch a device.
  /// Other routes that do not need the host are recorded at the first run with these arrays, and replayed as one graph
  /// a device.
  void run(std::vector<Stream>& streams);
  /// Device time in microseconds from the beginning of the last exchange to the arrival of each message that reaches
  /// this rank, in the order of messages(); below 0 where the message leaves this rank. Waits for the exchange, and
  /// throws Timeout where it failed.
  std::vector<double> arrival_us();

  /// All messages of all ranks with the times of the last exchange, sorted by source and target. Collective; waits.
  /// Throws on all ranks where the exchange failed on one.
  std::vector<ReportRow> report();

  /// Messages that leave or reach this rank's devices.
  const std::vector<MessageInfo>& messages() const;
  /// True where some route blocks the host in end().
  bool needs_host() const;
  /// True where begin, end and run may be recorded into a graph of the caller's streams and replayed. The graph may
  /// outlive the exchange, but must not be replayed after its end: it would store into memory that the arena has given
  /// to another exchange, here and at the neighbours. Graph::launch throws Error then. What a caller records with
  /// CUDA's own calls, and launches with them, nobody checks.
  bool capturable() const;
  /// True where in such a graph, too, a wait for a neighbour that has stopped ends with an error. What a library waits
  /// for has no limit there.
  bool limited_in_graphs() const;
  /// True where such a graph may also repeat the exchange within itself, as often as a number on the device says: all
  /// messages of all ranks travel by kernels alone. The same on all ranks.
  bool loopable() const;
  /// In the memory of a device of this rank: 0 until a wait of the exchange gives up. Kernels behind end() that must
  /// not work with what did not arrive may ask it.
  const Signal* broken_on(Device device) const;
  /// Exchanges begun so far.
  std::uint64_t sequence() const;
  /// Bytes of device memory that the plan holds on a device of this rank: slots, packed values, tables, signals.
  /// Without what a library takes for itself.
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
