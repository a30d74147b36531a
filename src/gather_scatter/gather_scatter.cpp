#include <slipstream/gather_scatter.hpp>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <slipstream/buffer.hpp>
#include <slipstream/error.hpp>

#include "device/record_graphs.hpp"
#include "device/recorded_calls.hpp"
#include "exchange/apart.hpp"
#include "exchange/calls_in_order.hpp"
#include "exchange/same_calls.hpp"
#include "exchange/same_on_ranks.hpp"
#include "exchange/tuning.hpp"
#include "gather_scatter/copies.hpp"
#include "gather_scatter/gather_scatter_kernels.hpp"
#include "gather_scatter/host_packed.hpp"
#include "gather_scatter/mailboxes.hpp"
#include "machine/agree.hpp"
#include "machine/hash.hpp"
#include "machine/private_communicator.hpp"
#include "machine/same_ranks.hpp"
#include "machine/timeout.hpp"

namespace slipstream {
namespace {

/// Minimum timeout of a gather-scatter's set-up in seconds. Other ranks may have more points to sort.
constexpr double least_timeout = 60;

}  // namespace

struct GatherScatter::Impl {
  Impl(const Communicator& world, const Machine& machine, const std::vector<SharedPoints>& points,
       GatherScatterOptions wanted)
      : comm(sharing(world)), options(std::move(wanted)) {
    check_options(machine);
    const double seconds = std::max(options.exchange.wait_limit, least_timeout);
    std::vector<Copies> copies = find_copies(comm, machine, points, options.unique, options.host_packed, seconds);
    const auto mailboxes = [&](const char* name, const Coding& coding, const auto& box_of) {
      std::vector<const Mailbox*> boxes;
      for (const Copies& c : copies) boxes.push_back(box_of(c));
      return std::make_unique<Mailboxes>(comm, machine, name, boxes, options, coding, seconds);
    };
    if (options.host_packed) {
      host = std::make_unique<HostPacked>(comm, machine, copies, options);
    } else {
      both.mail = mailboxes("gather-scatter", options.coding, [](const Copies& c) { return &c.mailbox; });
    }
    if (options.unique) {
      gather.mail = mailboxes("gather", options.coding, [](const Copies& c) { return &c.unique->gather; });
      // Combined values are sent without a coding, so that all copies are equal.
      scatter.mail = mailboxes("scatter", {}, [](const Copies& c) { return &c.unique->scatter; });
    }
    on_all_ranks(comm, "a gather-scatter could not be made", [&] {
      for (std::size_t d = 0; d < copies.size(); ++d) {
        devices.emplace_back(machine.device(copies[d].device).local, points[d], copies[d]);
        in_order.add(devices.back().device);
      }
    });
    constexpr std::size_t few = std::size_t{1} << 22;  // maximum number of local points for which a single launch pays
    const auto small = [&](const auto& size_of_own) {
      return comm.all(
          std::all_of(copies.begin(), copies.end(), [&](const Copies& c) { return size_of_own(c) <= few; }));
    };
    both.small = small([](const Copies& c) { return static_cast<std::size_t>(c.local_copies); });
    gather.small = scatter.small =
        small([](const Copies& c) { return c.unique ? c.unique->own.items.size() : std::size_t{0}; });
    if (!host) connect();
    if (comm.size() > 1) {
      const std::vector<std::string> kinds{"run", "gather", "scatter"};
      same_calls.emplace(comm, "a gather-scatter", kinds, options.exchange.wait_limit);
    }
  }

  /// Destroys the exchanges first: they wait for their own work. Then waits for local work.
  ~Impl() {
    in_order.close();
    for (Way* each : {&scatter, &gather, &both}) each->mail.reset();
    host.reset();
    in_order.wait();
  }

  /// Tuning times whole gather-scatters of zeros, without the last step: it costs the same by every route.
  void connect() {
    std::optional<TuneOptions> how = options.tune;
    std::vector<Buffer<std::byte>> zeros;
    std::vector<Values> points, unique;
    if (how) {
      double own_points = 0;
      on_all_ranks(comm, "a gather-scatter could not be tuned", [&] {
        for (OnDevice& on : devices) {
          const auto made = [&](std::int64_t count) {
            zeros.emplace_back(on.device, std::max<std::size_t>(1, static_cast<std::size_t>(count)) *
                                              static_cast<std::size_t>(options.components) * size_of(options.type));
            fill(on.stream, zeros.back().data(), 0, zeros.back().bytes());
            on.stream.synchronize();
            return Values{zeros.back().data(), count};
          };
          points.push_back(made(on.points));
          unique.push_back(made(on.unique_ids));
          own_points += static_cast<double>(on.counts.shared_points);
        }
      });
      how->work_name = std::to_string(static_cast<std::int64_t>(comm.sum_in_rank_order(own_points))) + " points" +
                       (how->work ? " and " + how->work_name : "");
      how->work = [](std::vector<Stream>&) {};  // no-op: the function that the tuner times already sums local copies
    }
    for (Way* each : {&both, &gather, &scatter}) {
      if (!each->mail) continue;
      each->mail->connect(comm, options.exchange, how, [&](Exchange& exchange, std::vector<Stream>& streams) {
        now = {each, is_complex(options.type) ? Op::add : Op::min, points, unique};
        if (!options.tune->work && each->small) return run_with(exchange, streams);
        for (std::size_t d = 0; d < devices.size(); ++d) pack(d, streams[d]);
        run_overlapped(exchange, streams, [&](std::vector<Stream>& own) {
          for (std::size_t d = 0; d < devices.size(); ++d) do_own(d, own[d]);
          if (options.tune->work) options.tune->work(own);
        });
      });
    }
    for (OnDevice& on : devices) on.stream.synchronize();  // an error may have left work on these streams
  }

  void check_options(const Machine& machine) {
    const std::string words = std::to_string(options.components) + " x " + to_string(options.type) +
                              (options.coding == Coding{} ? "" : ", " + to_string(options.coding)) +
                              (options.unique ? ", with unique values" : "") +
                              (options.host_packed ? ", packed on the host" : "") + (options.tune ? ", tuned" : "");
    require_same(comm, hash_of(words), "a gather-scatter of " + words);
    on_all_ranks(comm, [&] {
      require_discovered(comm, machine, "a gather-scatter");
      wait_limit_ns(options.exchange.wait_limit, "a gather-scatter");
    });
    if (options.tune) check_work(comm, *options.tune);
    require_combinable(options.type);
    wire = wire_of(options.coding, options.type, "a gather-scatter");
    require(
        wire.kind != Wire::own && wire.rounds_by_value(), ErrorCode::unsupported,
        "a gather-scatter by " + to_string(options.coding) + ": " +
            (wire.kind == Wire::own ? "it combines values by kernels of its own, which know no coding of the caller's"
                                    : "a value that several devices share would be rounded differently on its way "
                                      "to each, with what travels beside it, and its copies would differ") +
            ": choose raw, cast, or blockfloat with a max error",
        {{"option", "coding"}, {"given", to_string(options.coding)}});
    require(options.components >= 1,
            "a gather-scatter needs one component or more, not " + std::to_string(options.components),
            {{"option", "components"}, {"given", options.components}});
    require(!options.host_packed || !(options.unique || options.tune || options.exchange.measure_errors),
            ErrorCode::unsupported,
            "a gather-scatter that is packed on the host has no unique values, nothing to tune and no errors to "
            "measure: leave these out",
            {{"option", "host_packed"}});
  }

  /// Data of one device: its lists of shared points, and a stream for work that is concurrent with its messages.
  struct OnDevice {
    OnDevice(Device device, const SharedPoints& of, Copies& c)
        : device(device), local(std::move(c.local)), before(device), after(device), stream(device) {
      points = static_cast<std::int64_t>(of.ids.size());
      for (const Term& term : c.shared.items)
        if (!term.incoming) remote_points.push_back(term.index);
      std::sort(remote_points.begin(), remote_points.end());
      counts.shared_points = c.local_copies + static_cast<std::int64_t>(remote_points.size());
      counts.local_ids = c.local_groups;
      counts.remote_ids = static_cast<std::int64_t>(c.shared.rows());
      counts.sent_values = static_cast<std::int64_t>(c.outgoing.rows());
      const std::uint32_t block = points_of_block(of.block);
      outgoing.rows = uploaded(stream, c.outgoing);
      shared = {{}, uploaded(stream, c.shared), {}, block};
      if (!c.unique) return;
      UniqueCopies& unique = *c.unique;
      counts.unique_ids = unique_ids = static_cast<std::int64_t>(unique.points.size());
      counts.gathered_values = static_cast<std::int64_t>(unique.gathered.rows());
      counts.scattered_values = static_cast<std::int64_t>(unique.sent.size());
      own = {uploaded(stream, unique.own), {}, upload(stream, unique.own_at), block};
      met = {{}, uploaded(stream, unique.met), upload(stream, unique.met_at), block};
      met_copies = {uploaded(stream, unique.met_copies), {}, upload(stream, unique.met_at)};
      gathered.rows = uploaded(stream, unique.gathered);
      theirs = {uploaded(stream, unique.theirs), {}, upload(stream, unique.theirs_at)};
      sent = upload(stream, unique.sent);
      unique_points = std::move(unique.points);
    }
    Device device;
    std::int64_t points = 0, unique_ids = 0;  // numbers of a device's points and of the point ids that it owns
    Counts counts;
    std::vector<std::int64_t> remote_points;
    std::vector<std::uint32_t> unique_points;
    GroupTiles local;
    ListOnDevice outgoing, shared;                        // points that run() sends, or combines with received values
    ListOnDevice own, met, met_copies, gathered, theirs;  // lists of points for gather() and scatter()
    Buffer<std::uint32_t> sent;
    Event before, after;
    Stream stream;  // declared last: its destructor waits for kernels before the lists above are freed
  };

  void check_op(Op op) const {
    if (op == Op::copy)
      throw Error(ErrorCode::invalid_argument, "a gather-scatter needs an operation: add, multiply, min or max",
                  {{"option", "op"}});
    if (is_complex(options.type) && op != Op::add && op != Op::multiply)
      throw Error(ErrorCode::unsupported,
                  "a gather-scatter of complex numbers (" + to_string(options.type) +
                      ") has no smallest or largest: choose add or multiply",
                  {{"option", "op"}, {"type", to_string(options.type)}});
  }

  static const char* kind_of_array(const char* what) { return *what ? "unique values" : "points"; }

  /// Checks an array unless the same one has been checked before.
  void check_memory(std::size_t d, const Values& values, std::int64_t count, const char* what) {
    if (options.components > 1 && values.stride < count)
      throw Error(ErrorCode::invalid_argument,
                  "array " + std::to_string(d) + what + " of a gather-scatter has a stride of " +
                      std::to_string(values.stride) + " values from one component to the next, each of which has " +
                      std::to_string(count) + ": give at least as many",
                  {{"array", d}, {"kind", kind_of_array(what)}, {"given", values.stride}, {"needed", count}});
    const std::int64_t elements = (options.components - 1) * values.stride + count;
    if (count == 0 || sound.contains({d, values.data, elements})) return;
    const std::string problem =
        memory_problem(devices[d].device, values.data, static_cast<std::size_t>(elements) * size_of(options.type));
    if (!problem.empty())
      throw Error(ErrorCode::invalid_argument, "array " + std::to_string(d) + what + " of a gather-scatter: " + problem,
                  {{"array", d}, {"kind", kind_of_array(what)}, {"reason", problem}});
    constexpr std::size_t most = 256;
    if (sound.size() == most) sound.clear();
    sound.insert({d, values.data, elements});
  }

  /// Checks the caller's arrays on all devices and returns them. `count`: how many values a component must have.
  std::vector<Values> taken(const std::vector<Stream>& streams, const std::vector<Array>& arrays, const char* what,
                            std::int64_t OnDevice::*count) {
    if (streams.size() != devices.size() || arrays.size() != devices.size())
      throw Error(ErrorCode::mismatch,
                  "a gather-scatter was given " + std::to_string(streams.size()) + " streams and " +
                      std::to_string(arrays.size()) + " arrays" + what + " for the " + std::to_string(devices.size()) +
                      " devices of this rank",
                  {{"kind", kind_of_array(what)},
                   {"streams", streams.size()},
                   {"arrays", arrays.size()},
                   {"needed", devices.size()}});
    std::vector<Values> all;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const std::int64_t values = devices[d].*count;
      if (!arrays[d].values && values != 0)
        throw Error(ErrorCode::invalid_argument, "array " + std::to_string(d) + what + " of a gather-scatter is null",
                    {{"array", d}, {"kind", kind_of_array(what)}, {"problem", "null"}});
      all.push_back({arrays[d].values, arrays[d].stride ? arrays[d].stride : values});
      check_memory(d, all.back(), values, what);
    }
    return all;
  }

  /// One of the three operations: gather and scatter at once (Q Q^T), gather (Q^T) or scatter (Q).
  struct Way {
    int kind;  // which operation, for the comparison of calls between ranks
    std::unique_ptr<Mailboxes> mail = {};
    bool small = false;  // whether few points are shared within devices, on all ranks
  };

  /// Throws Error if an array that a call writes shares memory with another of its arrays.
  void require_apart(const Way& chosen, const std::vector<Values>& points, const std::vector<Values>& unique) const {
    struct Part {
      ByteRows at;
      std::size_t device;
      const char* what;
      bool written;
    };
    if (points.size() + unique.size() < 2) return;
    std::vector<Part> parts;
    const auto size = static_cast<std::int64_t>(size_of(options.type));
    const auto add = [&](const std::vector<Values>& arrays, std::int64_t OnDevice::*count, const char* what,
                         bool written) {
      for (std::size_t d = 0; d < arrays.size(); ++d)
        parts.push_back({{arrays[d].data, devices[d].*count * size, options.components, arrays[d].stride * size},
                         d,
                         what,
                         written});
    };
    add(points, &OnDevice::points, "", &chosen != &gather);
    add(unique, &OnDevice::unique_ids, " of unique values", &chosen == &gather);
    for (std::size_t a = 0; a < parts.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if ((parts[a].written || parts[b].written) && share_memory(parts[a].at, parts[b].at))
          throw Error(ErrorCode::invalid_argument,
                      "array " + std::to_string(parts[b].device) + parts[b].what + " of a gather-scatter and array " +
                          std::to_string(parts[a].device) + parts[a].what +
                          " share memory that is written: give arrays that lie apart",
                      {{"array", parts[b].device}, {"other", parts[a].device}, {"problem", "shared"}});
  }

  /// Checks the operands of an operation, and keeps them for its steps.
  Impl& take(const Way& chosen, const std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op,
             const std::vector<Array>* unique = nullptr) {
    if (open)
      throw Error(ErrorCode::wrong_state, "a gather-scatter was started again before its end",
                  {{"problem", "started_again"}});
    if (&chosen != &both && chosen.mail == nullptr)
      throw Error(
          ErrorCode::wrong_state,
          "a gather-scatter was asked for unique values that was made without them: set GatherScatterOptions::unique",
          {{"option", "unique"}});
    if (&chosen != &scatter) check_op(op);
    std::vector<Values> points, values;
    const Problem problem = failure_of([&] {
      points = taken(streams, arrays, "", &OnDevice::points);
      in_order.check(streams);
      if (unique) values = taken(streams, *unique, " of unique values", &OnDevice::unique_ids);
      require_apart(chosen, points, values);
    });
    if (same_calls && !host && chosen.mail->exchange()) {
      same_calls->count();
      if (!captured(streams)) same_calls->compare(chosen.kind, op, problem);
    }
    throw_if(problem);
    now = {&chosen, op, std::move(points), std::move(values)};
    return *this;
  }

  /// Exchange of the current operation. Null if no devices share an id, or if the host does the exchange.
  Exchange* current_exchange() const { return host ? nullptr : now.way->mail->exchange(); }

  // Steps of the current operation on one device: arguments, packing, local work, work with received values.

  Operands operands(std::size_t d) const {
    Operands with{now.points[d], {}, {}, options.type, options.components, now.op, wire};
    if (now.way != &both) with.unique = now.uniques[d];
    if (host) return with;
    with.mailbox = now.way->mail->values(d);
    if (const Exchange* exchange = now.way->mail->exchange()) with.broken = exchange->broken_on(devices[d].device);
    return with;
  }

  void pack(std::size_t d, Stream& stream) const {
    if (host) return host->pack(d, stream, now.points[d], now.op);
    const Operands with = operands(d);
    if (now.way == &scatter) return pack_places(stream, devices[d].sent, with);
    combine_to(stream, now.way == &both ? devices[d].outgoing : devices[d].gathered, with, with.mailbox);
  }

  /// Queues the part of an operation that needs no values from other devices.
  void do_own(std::size_t d, Stream& stream) const {
    const OnDevice& on = devices[d];
    const Operands with = operands(d);
    if (now.way == &both) return combine_groups(stream, on.local, on.shared.block, with);
    if (now.way == &gather) return combine_to(stream, on.own, with, with.unique);
    spread(stream, on.own, with, with.unique);
    spread(stream, on.met_copies, with, with.unique);
  }

  /// Queues the work that needs values received from other devices.
  void do_shared(std::size_t d, Stream& stream) const {
    const OnDevice& on = devices[d];
    const Operands with = operands(d);
    if (now.way == &both) return combine_in_place(stream, on.shared, with);
    if (now.way == &gather) return combine_to(stream, on.met, with, with.unique);
    spread(stream, on.theirs, with, with.mailbox, true);
  }

  /// Runs a gather-scatter. With small messages the exchange is one launch on the caller's stream, concurrent with
  /// local work. Launches would then take longer than the kernels, so a repeated call is replayed as one graph.
  void run(std::vector<Stream>& streams) {
    Exchange* const exchange = current_exchange();
    if (!exchange || !now.way->small) {
      start(streams);
      return finish(streams);
    }
    in_order.begin(streams);
    if (!replayed(*exchange, streams)) run_small(*exchange, streams);
    in_order.end(streams);
  }

  /// Replays the call as a graph, recorded at its first repetition. Returns false if it cannot. Calls are not recorded
  /// while the caller captures its streams or asks for a trace. Codings are not recorded either: their ranks must
  /// report values that were too large.
  bool replayed(Exchange& exchange, std::vector<Stream>& streams) {
    if (!exchange.loopable() || options.exchange.trace || options.coding != Coding{} || captured(streams)) return false;
    exchange.check();
    const auto record = [&] {
      std::vector<Stream> origins;
      for (const OnDevice& on : devices) origins.emplace_back(on.device, Priority::high);
      return record_graphs(origins, [&] { run_small(exchange, origins); });
    };
    const auto forget = [&] {
      for (const OnDevice& on : devices) synchronize(on.device);
    };
    const auto* graphs = calls.find(now, record, forget);
    if (!graphs) return false;
    for (std::size_t d = 0; d < devices.size(); ++d) (*graphs)[d].launch(streams[d]);
    return true;
  }

  void run_small(Exchange& exchange, std::vector<Stream>& streams) {
    run_with(exchange, streams);
    for (std::size_t d = 0; d < devices.size(); ++d) do_shared(d, streams[d]);
  }

  /// Packs and exchanges the values, until the messages have arrived. Local work is concurrent with it.
  void run_with(Exchange& exchange, std::vector<Stream>& streams) {
    std::size_t beside = 0;
    // Streams join also after an error: the caller may free the arrays behind this call on its streams.
    const auto join = [&] {
      for (std::size_t d = 0; d < beside; ++d) streams[d].wait(devices[d].after);
    };
    try {
      for (std::size_t d = 0; d < devices.size(); ++d) {
        OnDevice& own = devices[d];
        streams[d].record(own.before);
        own.stream.wait(own.before);
        do_own(d, own.stream);
        own.stream.record(own.after);
        ++beside;
        pack(d, streams[d]);
      }
      exchange.run(streams);
    } catch (...) {
      join();
      throw;
    }
    join();
  }

  void start(std::vector<Stream>& streams) {
    in_order.begin(streams);
    for (std::size_t d = 0; d < devices.size(); ++d) pack(d, streams[d]);
    if (Exchange* const exchange = current_exchange()) exchange->begin(streams);
    open = true;
  }

  void finish(std::vector<Stream>& streams) {
    if (!open)
      throw Error(ErrorCode::wrong_state, "a gather-scatter was finished that was not started",
                  {{"problem", "not_started"}});
    open = false;
    for (std::size_t d = 0; d < devices.size(); ++d) do_own(d, streams[d]);
    if (host) host->finish(streams, now.points, now.op);
    if (Exchange* const exchange = current_exchange()) {
      exchange->end(streams);
      for (std::size_t d = 0; d < devices.size(); ++d) do_shared(d, streams[d]);
    }
    in_order.end(streams);
  }

  Communicator comm;
  GatherScatterOptions options;
  Wire wire = Wire::same;
  std::vector<OnDevice> devices;
  struct Call {
    const Way* way = nullptr;
    Op op = Op::add;
    std::vector<Values> points = {}, uniques = {};
    bool operator==(const Call&) const = default;
  };
  Call now;  // operation and arrays of the last call
  bool open = false;
  std::optional<SameCalls> same_calls;        // comparison of calls between ranks; null on a single rank
  CallsInOrder in_order{"a gather-scatter"};  // order of calls across streams, because all calls use the same mailboxes
  RecordedCalls<Call> calls;
  std::set<std::tuple<std::size_t, const void*, std::int64_t>> sound;  // arrays found valid: device, address, elements
  std::unique_ptr<HostPacked> host;
  Way both{0}, gather{1}, scatter{2};
};

GatherScatter::GatherScatter(const Communicator& comm, const Machine& machine, const std::vector<SharedPoints>& points,
                             GatherScatterOptions options)
    : impl_(std::make_unique<Impl>(comm, machine, points, std::move(options))) {}
GatherScatter::~GatherScatter() = default;
GatherScatter::GatherScatter(GatherScatter&&) noexcept = default;
void GatherScatter::run(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) {
  impl_->take(impl_->both, streams, arrays, op).run(streams);
}
void GatherScatter::start(std::vector<Stream>& streams, const std::vector<Array>& arrays, Op op) {
  impl_->take(impl_->both, streams, arrays, op).start(streams);
}
void GatherScatter::finish(std::vector<Stream>& streams) { impl_->finish(streams); }
void GatherScatter::gather(std::vector<Stream>& streams, const std::vector<Array>& arrays,
                           const std::vector<Array>& unique, Op op) {
  impl_->take(impl_->gather, streams, arrays, op, &unique).run(streams);
}
void GatherScatter::scatter(std::vector<Stream>& streams, const std::vector<Array>& unique,
                            const std::vector<Array>& arrays) {
  impl_->take(impl_->scatter, streams, arrays, Op::copy, &unique).run(streams);
}
void GatherScatter::start_gather(std::vector<Stream>& streams, const std::vector<Array>& arrays,
                                 const std::vector<Array>& unique, Op op) {
  impl_->take(impl_->gather, streams, arrays, op, &unique).start(streams);
}
void GatherScatter::start_scatter(std::vector<Stream>& streams, const std::vector<Array>& unique,
                                  const std::vector<Array>& arrays) {
  impl_->take(impl_->scatter, streams, arrays, Op::copy, &unique).start(streams);
}
const std::vector<std::uint32_t>& GatherScatter::unique_points(std::size_t device) const {
  return impl_->devices.at(device).unique_points;
}
void GatherScatter::check() {
  if (impl_->host) impl_->host->on_host().check();
  for (const Impl::Way* way : {&impl_->both, &impl_->gather, &impl_->scatter})
    if (way->mail && way->mail->exchange()) way->mail->exchange()->check();
}
GatherScatter::Counts GatherScatter::counts(std::size_t device) const { return impl_->devices.at(device).counts; }
const std::vector<std::int64_t>& GatherScatter::remote_points(std::size_t device) const {
  return impl_->devices.at(device).remote_points;
}
bool GatherScatter::loopable() const {
  const Exchange* const used = exchange();
  return !impl_->host && (!used || used->loopable());
}
const Exchange* GatherScatter::exchange() const {
  return impl_->host ? impl_->host->on_host().exchange() : impl_->both.mail->exchange();
}
std::vector<ReportRow> GatherScatter::report() {
  if (impl_->host) return impl_->host->on_host().report();
  Exchange* const exchange = impl_->both.mail->exchange();
  return exchange ? exchange->report() : std::vector<ReportRow>{};
}
const Tuning& GatherScatter::tuning() const {
  return impl_->host ? impl_->host->on_host().tuning() : impl_->both.mail->tuning();
}

}  // namespace slipstream
