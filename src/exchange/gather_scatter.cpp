#include <slipstream/gather_scatter.hpp>

#include <algorithm>
#include <map>
#include <numeric>

#include <slipstream/error.hpp>
#include <slipstream/field.hpp>

#include "exchange/agreement.hpp"
#include "exchange/copies.hpp"
#include "exchange/gather_scatter_kernels.hpp"
#include "machine/agree.hpp"
#include "machine/hash.hpp"
#include "machine/records.hpp"
#include "machine/rendezvous.hpp"

namespace slipstream {
namespace {

/// Seconds that set-up waits for other ranks at least: they may have more points to sort.
constexpr double least_patience = 60;

/// The messages between mailboxes, each a block of a grid of one row: what one sends the other receives.
class Mailboxes final : public Pattern {
 public:
  struct Letter {
    std::int64_t source = 0, target = 0;  ///< devices, which are blocks
    std::int64_t from = 0, to = 0, count = 0;
    bool operator<(const Letter& other) const {
      return std::pair(source, target) < std::pair(other.source, other.target);
    }
  };
  /// Collective: no rank knows the letters of others, and all have one fingerprint.
  Mailboxes(const Communicator& comm, std::vector<Letter> letters) : letters_(std::move(letters)) {
    std::sort(letters_.begin(), letters_.end());
    Hash own, all;
    for (const Letter& l : letters_)
      for (const std::int64_t value : {l.source, l.target, l.from, l.to, l.count})
        own.add(static_cast<std::uint64_t>(value));
    for (const std::int64_t part : comm.all_gather(static_cast<std::int64_t>(own.value())))
      all.add(static_cast<std::uint64_t>(part));
    fingerprint_ = all.value();
  }
  std::string name() const override { return "gather-scatter"; }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  /// Of this rank alone: no other knows of its letters.
  std::vector<Transfer> transfers(const Grid& grid, int components, const Extent&, int rank) const override {
    require(rank == grid.rank(), "a gather-scatter is planned by its own rank alone");
    std::vector<int> all(static_cast<std::size_t>(components));
    std::iota(all.begin(), all.end(), 0);
    std::vector<Transfer> found;
    for (const Letter& l : letters_)
      found.push_back({l.source,
                       l.target,
                       {{{l.from, 0, 0}, {l.from + l.count, 1, 1}}, all, nullptr},
                       {{{l.to, 0, 0}, {l.to + l.count, 1, 1}}, all, nullptr},
                       Op::copy});
    return found;
  }

 private:
  std::vector<Letter> letters_;
  std::uint64_t fingerprint_ = 0;
};

/// What a device tells another of its mailbox.
struct Address {
  std::int64_t device = 0, other = 0;
  std::int64_t outgoing = 0, incoming = 0, count = 0;  ///< values that the other sends
};

std::vector<Mailboxes::Letter> letters_of(const Communicator& comm, const Machine& machine,
                                          const std::vector<Copies>& copies, double seconds) {
  std::map<int, std::string> texts;
  for (const Copies& c : copies)
    for (const Mail& mail : c.mail)
      append_record(texts[machine.device(mail.device).rank],
                    Address{c.device, mail.device, mail.outgoing, mail.incoming, mail.incoming_count});
  std::vector<Address> told;
  for (const auto& [rank, text] : rendezvous(comm, texts, seconds)) read_records(text, told);
  std::map<std::pair<std::int64_t, std::int64_t>, Address> known;
  for (const Address& address : told) known[{address.device, address.other}] = address;
  std::vector<Mailboxes::Letter> letters;
  for (const Copies& c : copies)
    for (const Mail& mail : c.mail) {
      const auto there = known.find({mail.device, c.device});
      require(there != known.end() && there->second.count == mail.outgoing_count,
              "devices " + std::to_string(c.device) + " and " + std::to_string(mail.device) +
                  " of a gather-scatter list different numbers of shared values");
      letters.push_back({c.device, mail.device, mail.outgoing, there->second.incoming, mail.outgoing_count});
      // Of two devices of this rank, each lists what it sends.
      if (machine.device(mail.device).rank != comm.rank())
        letters.push_back({mail.device, c.device, there->second.outgoing, mail.incoming, mail.incoming_count});
    }
  return letters;
}

}  // namespace

struct GatherScatter::Impl {
  Impl(const Communicator& comm, const Machine& machine, const std::vector<SharedPoints>& points,
       GatherScatterOptions wanted)
      : comm(comm), machine(machine), options(std::move(wanted)) {
    tuning.options = options.exchange;
    tuning.source = "rules";
    check_options();
    const double seconds = std::max(options.exchange.wait_limit, least_patience);
    copies = find_copies(comm, machine, points, seconds);
    make_mailboxes(seconds);
    on_all_ranks(comm, "a gather-scatter could not be made", [&] {
      for (const Copies& c : copies) {
        lists.emplace_back(machine.device(c.device).local, c);
        counts.push_back(counts_of(c));
        remote.push_back(remote_points_of(c));
        besides.emplace_back(machine.device(c.device).local);
      }
    });
    small = comm.all(std::all_of(copies.begin(), copies.end(), [](const Copies& c) {
      constexpr std::size_t few = std::size_t{1} << 22;  // points
      return c.local.items.size() <= few;
    }));
    // On the devices they are needed, here no more.
    for (Copies& c : copies) {
      c.local = {};
      c.shared = {};
      c.outgoing = {};
    }
  }

  void check_options() {
    const std::string words = std::to_string(options.components) + " x " + to_string(options.type) +
                              (options.coding == Coding{} ? "" : ", " + to_string(options.coding));
    Hash hash;
    hash.add(words);
    slipstream::agree(comm, hash.value(), "a gather-scatter of " + words);
    CopiesOnDevice::require_known(options.type);
    wire = wire_of(options.coding, options.type, "a gather-scatter");
    require(options.components >= 1,
            "a gather-scatter needs one component or more, not " + std::to_string(options.components));
    require(machine.discovered() && machine.ranks() == comm.size(),
            "a gather-scatter was asked for on machine '" + machine.name() + "' of " + std::to_string(machine.ranks()) +
                " ranks by " + std::to_string(comm.size()) +
                " ranks: give it the machine that Machine::discover found with the same communicator");
  }

  static Counts counts_of(const Copies& c) {
    Counts counts;
    counts.shared_points = static_cast<std::int64_t>(c.local.items.size());
    for (const Term& term : c.shared.items) counts.shared_points += !term.incoming;
    counts.local_ids = static_cast<std::int64_t>(c.local.rows());
    counts.remote_ids = static_cast<std::int64_t>(c.shared.rows());
    counts.sent_values = static_cast<std::int64_t>(c.outgoing.rows());
    return counts;
  }

  static std::vector<std::int64_t> remote_points_of(const Copies& c) {
    std::vector<std::int64_t> points;
    for (const Term& term : c.shared.items)
      if (!term.incoming) points.push_back(term.index);
    std::sort(points.begin(), points.end());
    return points;
  }

  /// A field of a block a device, whose values the exchange moves.
  void make_mailboxes(double seconds) {
    std::vector<std::int64_t> mine;
    for (const Copies& c : copies) mine.push_back(std::max<std::int64_t>(c.mailbox, 1));
    const std::vector<std::int64_t> sizes = by_device(comm, machine, mine);
    const std::vector<Mailboxes::Letter> letters = letters_of(comm, machine, copies, seconds);
    if (comm.all(letters.empty())) return;
    pattern = std::make_unique<Mailboxes>(comm, letters);
    on_all_ranks(comm, "a gather-scatter could not be made", [&] {
      GridOptions boxes;
      std::int64_t at = 0;
      for (std::size_t device = 0; device < sizes.size(); ++device) {
        Block block;
        block.box = {{at, 0, 0}, {at + sizes[device], 1, 1}};
        block.device = static_cast<int>(device);
        at += sizes[device];
        boxes.boxes.push_back(block);
      }
      grid = std::make_unique<Grid>(Extent{at, 1, 1}, machine, comm.rank(), boxes);
      FieldOptions values;
      values.name = "shared points";
      values.type = options.type;
      values.components = options.components;
      values.shared = true;
      field = std::make_unique<Field>(*grid, values);
    });
    const std::vector<ExchangeItem> items{{pattern.get(), field.get(), nullptr, false, options.coding}};
    if (options.tune) tuning = tune(comm, *grid, items, options.exchange, *options.tune);
    exchange = std::make_unique<Exchange>(comm, *grid, items, tuning.options);
  }

  Values mailbox(std::size_t device) const {
    if (!field) return {};
    const std::int64_t block = copies[device].device;
    const BlockShape& shape = field->shape(block);
    return {field->data(block) + shape.origin * static_cast<std::int64_t>(size_of(options.type)),
            shape.component_stride};
  }

  void check_arguments(const std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) const {
    require(op != Op::copy, "a gather-scatter needs an operation: add, multiply, min or max");
    require(!is_complex(options.type) || op == Op::add || op == Op::multiply,
            "a gather-scatter of complex numbers (" + to_string(options.type) +
                ") has no smallest or largest: choose add or multiply");
    require(streams.size() == copies.size() && arrays.size() == copies.size(),
            "a gather-scatter was given " + std::to_string(streams.size()) + " streams and " +
                std::to_string(arrays.size()) + " arrays for the " + std::to_string(copies.size()) +
                " devices of this rank");
    for (std::size_t d = 0; d < copies.size(); ++d) {
      const Device local = machine.device(copies[d].device).local;
      require(streams[d].device() == local, "stream " + std::to_string(d) + " of a gather-scatter is on " +
                                                to_string(streams[d].device()) + ", not on " + to_string(local));
      require(arrays[d].values || copies[d].points == 0, "array " + std::to_string(d) + " of a gather-scatter is null");
    }
  }

  void take(const std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) {
    require(!open, "a gather-scatter was started again before its end");
    check_arguments(streams, arrays, op);
    current.clear();
    operation = op;
    for (std::size_t d = 0; d < copies.size(); ++d)
      current.push_back({arrays[d].values, arrays[d].stride ? arrays[d].stride : copies[d].points});
  }

  /// Where the messages are small, the exchange is one launch on the caller's stream, and what lies on the device alone
  /// is combined beside it.
  void run(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) {
    if (!exchange || !small) {
      start(streams, arrays, op);
      finish(streams);
      return;
    }
    take(streams, arrays, op);
    for (std::size_t d = 0; d < copies.size(); ++d) {
      Beside& own = besides[d];
      streams[d].record(own.before);
      own.stream.wait(own.before);
      lists[d].combine_local(own.stream, current[d], options.type, wire, options.components, op);
      own.stream.record(own.after);
      lists[d].pack(streams[d], current[d], mailbox(d), options.type, options.components, op);
    }
    exchange->run(streams);
    for (std::size_t d = 0; d < copies.size(); ++d) streams[d].wait(besides[d].after);
    combine_shared(streams);
  }

  void combine_shared(std::vector<Stream>& streams) {
    for (std::size_t d = 0; d < copies.size(); ++d)
      lists[d].combine_shared(streams[d], current[d], mailbox(d), exchange->broken_on(streams[d].device()),
                              options.type, wire, options.components, operation);
  }

  void start(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) {
    take(streams, arrays, op);
    const int k = options.components;
    for (std::size_t d = 0; d < copies.size(); ++d)
      lists[d].pack(streams[d], current[d], mailbox(d), options.type, k, op);
    if (exchange) exchange->begin(streams);
    open = true;
  }

  void finish(std::vector<Stream>& streams) {
    require(open, "a gather-scatter was finished that was not started");
    open = false;
    for (std::size_t d = 0; d < copies.size(); ++d)
      lists[d].combine_local(streams[d], current[d], options.type, wire, options.components, operation);
    if (!exchange) return;
    exchange->end(streams);
    combine_shared(streams);
  }

  Communicator comm;
  Machine machine;
  GatherScatterOptions options;
  Wire wire = Wire::same;
  Tuning tuning;
  std::vector<Copies> copies;
  std::vector<CopiesOnDevice> lists;
  std::vector<Counts> counts;
  std::vector<std::vector<std::int64_t>> remote;
  std::vector<Values> current;
  Op operation = Op::add;
  bool open = false;
  bool small = false;  // on all ranks
  struct Beside {
    explicit Beside(Device device) : stream(device), before(device), after(device) {}
    Stream stream;
    Event before, after;
  };
  std::vector<Beside> besides;  // of run(), a device each
  std::unique_ptr<Grid> grid;
  std::unique_ptr<Mailboxes> pattern;
  std::unique_ptr<Field> field;
  std::unique_ptr<Exchange> exchange;  // goes first
};

GatherScatter::GatherScatter(const Communicator& comm, const Machine& machine, const std::vector<SharedPoints>& points,
                             GatherScatterOptions options)
    : impl_(std::make_unique<Impl>(comm, machine, points, std::move(options))) {}
GatherScatter::~GatherScatter() = default;
GatherScatter::GatherScatter(GatherScatter&&) noexcept = default;
void GatherScatter::run(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) {
  impl_->run(streams, arrays, op);
}
void GatherScatter::start(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) {
  impl_->start(streams, arrays, op);
}
void GatherScatter::finish(std::vector<Stream>& streams) { impl_->finish(streams); }
void GatherScatter::check() {
  if (impl_->exchange) impl_->exchange->check();
}
GatherScatter::Counts GatherScatter::counts(std::size_t device) const { return impl_->counts.at(device); }
const std::vector<std::int64_t>& GatherScatter::remote_points(std::size_t device) const {
  return impl_->remote.at(device);
}
const Exchange* GatherScatter::exchange() const { return impl_->exchange.get(); }
std::vector<ReportRow> GatherScatter::report() {
  return impl_->exchange ? impl_->exchange->report() : std::vector<ReportRow>{};
}
const Tuning& GatherScatter::tuning() const { return impl_->tuning; }

}  // namespace slipstream
