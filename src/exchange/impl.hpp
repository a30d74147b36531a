#pragma once
// Implementation of class Exchange. build.cpp sets up the members, exchange.cpp runs them.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <slipstream/exchange.hpp>

#include "exchange/agreement.hpp"
#include "exchange/arrays.hpp"
#include "exchange/calls_in_order.hpp"
#include "exchange/launches.hpp"
#include "exchange/memory.hpp"
#include "exchange/plan.hpp"
#include "exchange/waits.hpp"

namespace slipstream {

/// Registers an open exchange. The host drives it also while it waits for another one, because ranks may end several
/// exchanges in different orders.
class OpenExchange {
 public:
  /// `drive` is the host function that advances this exchange's messages. Only the thread that called open() calls it.
  explicit OpenExchange(std::function<void()> drive) : drive_(std::move(drive)) {}
  ~OpenExchange() { close(); }
  OpenExchange(const OpenExchange&) = delete;
  OpenExchange& operator=(const OpenExchange&) = delete;

  void open();
  void close() noexcept;
  /// Advances the messages of the other open exchanges of this thread.
  void drive_others() const;

 private:
  std::function<void()> drive_;
};

struct Exchange::Impl {
  Impl(const Communicator& world, const Grid& grid, std::vector<ExchangeItem> items, ExchangeOptions options);
  ~Impl() { unwind(false); }

  // Calls that are defined in build.cpp: set-up and teardown.
  void make(std::vector<ExchangeItem> items, ExchangeOptions options);
  void make_launches();
  bool over() const noexcept;
  void unwind(bool failed) noexcept;

  // Functions that start, drive and end an exchange; they are defined in exchange.cpp.
  Launches* on(Device device) const;
  std::vector<Stream*> own_streams() const;
  void check_known() const;
  void start(std::vector<Stream>& streams);
  bool drive_states();
  void wait_if_asked(const std::vector<Stream*>& streams);
  void transfer(const std::vector<Stream*>& streams);
  void mark_encoded(const std::vector<Stream*>& streams, bool late);
  void ask_at_end();
  void send_all(const std::vector<Stream*>& streams, bool after_opening);
  void send_behind(std::vector<Stream>& callers, bool after_opening);
  void receive_all(const std::vector<Stream*>& streams, std::vector<Stream>* callers);
  void require_unproduced(const char* what) const;
  void begin(std::vector<Stream>& streams);
  void open_windows(std::vector<Stream>& streams);
  void post(std::vector<Stream>& streams);
  void end(std::vector<Stream>& streams);
  void run(std::vector<Stream>& streams);
  const std::vector<Graph>& recording();
  bool progress();
  void trace_states() const;
  std::pair<int, std::string> who_waits() const;  ///< waiting device, and its missing message; empty: none
  void drive_host_routes();
  Problem unwritten_here() const;

  Communicator comm;
  const Grid& grid;
  std::optional<Plan> plan;
  RouteStates states;  // state that senders and receivers share, for each route in use on any rank
  std::optional<ExchangeMemory> memory;
  std::optional<ItemArrays> arrays;
  std::vector<std::unique_ptr<Launches>> launches;  // kernel launches of each device, in the order of streams
  std::map<int, std::vector<Graph>> recordings;     // recorded graphs of run(), per combination of arrays
  int combination = 0;
  bool transfers = false;  // whether some route queues work between sending and arrival
  bool loopable = false;
  bool opened = false;  // whether the caller's kernels may store into target memory now
  bool open = false;
  std::uint64_t sequence = 0;
  CallsInOrder calls{"an exchange"};
  OpenExchange driven{[this] { progress(); }};
  std::optional<Waits> waits;
  std::optional<Agreement> agreement;  // last member, destroyed first, because it uses the others
};

}  // namespace slipstream
