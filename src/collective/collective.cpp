#include <slipstream/collective.hpp>

#include <sstream>

#include <slipstream/error.hpp>

#include "collective/reduction.hpp"
#include "device/names.hpp"
#include "exchange/apart.hpp"
#include "machine/agree.hpp"
#include "machine/private_communicator.hpp"
#include "machine/same_ranks.hpp"
#include "machine/timeout.hpp"
#include "node/transport.hpp"

namespace slipstream {
namespace {

/// Reason why kernels of these devices cannot store into each other's memory; empty if they can.
std::string refusal(const Machine& machine) {
  const auto pair = [](int a, int b) { return "devices " + std::to_string(a) + " and " + std::to_string(b); };
  for (int a = 0; a < machine.devices(); ++a)
    for (int b = 0; b < machine.devices(); ++b) {
      if (machine.device(a).node != machine.device(b).node) return pair(a, b) + " are on different nodes";
      if (a != b && !machine.link(a, b).peer)
        return "kernels of device " + std::to_string(a) + " cannot store to device " + std::to_string(b);
    }
  return "";
}

constexpr std::pair<const char*, ReduceMethod> method_names[] = {{"automatic", ReduceMethod::automatic},
                                                                 {"peer", ReduceMethod::peer},
                                                                 {"nccl", ReduceMethod::nccl},
                                                                 {"mpi", ReduceMethod::mpi}};

}  // namespace

std::string ReduceTeam::name(int device) const { return end_of(device, machine.device(device).rank); }

Timeout ReduceTeam::missed(std::uint64_t number, const std::string& who, const std::string& whom,
                           double seconds) const {
  std::ostringstream text;
  text << "all-reduce " << number << ": " << who << " waited longer than " << seconds << " s for " << whom
       << ": did all ranks call run equally often, and is that rank still alive?";
  return Timeout(text.str(), {{"rank", rank}, {"sequence", number}, {"limit", seconds}, {"whom", whom}});
}

void Reduction::run_sums(std::vector<Stream>& streams, const std::vector<SumOnDevice>& sums,
                         const std::vector<const double*>& parts, const std::vector<double*>& results) {
  std::vector<void*> gathered;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].lower.run(streams[i], parts[i], sums[i].gathered.data());
    gathered.push_back(sums[i].gathered.data());
  }
  run(streams, gathered);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].upper.run(streams[i], sums[i].gathered.data(), results[i]);
}

std::string to_string(ReduceMethod method) { return name_in(method_names, method); }
ReduceMethod reduce_method_from_string(const std::string& name) {
  return value_in(method_names, name, "no method of an all-reduce is named", "method");
}

struct AllReduce::Impl {
  Impl(const Communicator& world, const Machine& machine, int values, DType type, Op op, AllReduceOptions options)
      : machine(machine), rank(world.rank()), devices(machine.devices_of_rank(world.rank())) {
    const Communicator comm = sharing(world);
    on_all_ranks(comm, [&] { check_arguments(comm, values, type, op, options); });
    for (const int device : devices) calls.add(machine.device(device).local);
    require_same(comm, values, type, op, options);
    const ReduceTeam team{this->machine, rank, devices, options.wait_limit, {type, op, machine.devices(), values},
                          calls};
    const bool any = options.method == ReduceMethod::automatic;
    if (options.method == ReduceMethod::mpi) reason = "asked for";
    if (any || options.method == ReduceMethod::peer) try_method(ReduceMethod::peer, comm, team, any);
    if (!reduction && (any || options.method == ReduceMethod::nccl)) try_method(ReduceMethod::nccl, comm, team, any);
    if (!reduction) reduction = mpi_reduction(comm, team);
    const bool peer = method == ReduceMethod::peer;
    bytes_of_array = static_cast<std::int64_t>(values * size_of(type));
    bytes = team.fold.pairs() * static_cast<std::int64_t>(peer ? 2 * sizeof(WordPair) : size_of(type));
  }

  void check_arguments(const Communicator& comm, int values, DType type, Op op, const AllReduceOptions& options) const {
    require_discovered(comm, machine, "an all-reduce");
    require(values >= 1 && values <= most_values, ErrorCode::invalid_argument,
            "an all-reduce of " + std::to_string(values) + " values: it takes 1 to " + std::to_string(most_values),
            {{"option", "values"}, {"given", values}, {"limit", most_values}});
    require(type == DType::f32 || type == DType::f64 || type == DType::i64, ErrorCode::unsupported,
            "an all-reduce of " + to_string(type) + ": it takes f32, f64 and i64",
            {{"option", "type"}, {"given", to_string(type)}});
    require(op != Op::copy, ErrorCode::invalid_argument, "an all-reduce needs an operation: add, multiply, min or max",
            {{"option", "op"}});
    wait_limit_ns(options.wait_limit, "an all-reduce");
  }

  static void require_same(const Communicator& comm, int values, DType type, Op op, const AllReduceOptions& options) {
    const std::int64_t mine =
        (((values * 16 + static_cast<int>(type)) * 16) + static_cast<int>(op)) * 16 + static_cast<int>(options.method);
    for (const std::int64_t other : comm.all_gather(mine))
      require(other == mine, ErrorCode::mismatch,
              "the ranks construct different all-reduces: values, type, operation and method must be the same",
              {{"object", "an all-reduce"}});
  }

  /// Tries a method of all-reduce. If it is unavailable and `another` is left, it only adds the cause to `reason`.
  void try_method(ReduceMethod wanted, const Communicator& comm, const ReduceTeam& team, bool another) {
    try {
      const bool peer = wanted == ReduceMethod::peer;
      const std::string why_not = peer ? refusal(machine) : nccl_reduction_refusal(machine);
      for (const std::string& theirs : comm.all_gather(why_not))
        require(theirs.empty(), ErrorCode::unavailable, theirs);
      reduction = peer ? peer_reduction(comm, team) : nccl_reduction(comm, team);
      method = wanted;
      reason += (reason.empty() ? "" : "; ") +
                std::string(peer ? "all devices reach each other's memory" : "NCCL joins all devices");
    } catch (const Error& error) {
      if (!another)
        throw Error(
            error.code(),
            "an all-reduce by the method " + to_string(wanted) + " is impossible: " + error.what() +
                "; use another, or automatic",
            joined(error.facts(), {{"option", "method"}, {"given", to_string(wanted)}, {"reason", error.what()}}));
      reason += (reason.empty() ? "not " : "; not ") + to_string(wanted) + ": " + error.what();
    }
  }

  void run(std::vector<Stream>& streams, const std::vector<void*>& values) {
    if (streams.size() != devices.size() || values.size() != devices.size())
      throw Error(ErrorCode::mismatch,
                  "an all-reduce was given " + std::to_string(streams.size()) + " streams and " +
                      std::to_string(values.size()) + " arrays for the " + std::to_string(devices.size()) +
                      " devices of this rank",
                  {{"given", std::min(streams.size(), values.size())}, {"needed", devices.size()}});
    for (std::size_t a = 0; a < values.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (share_memory({values[a], bytes_of_array}, {values[b], bytes_of_array}))
          throw Error(ErrorCode::invalid_argument,
                      "arrays " + std::to_string(b) + " and " + std::to_string(a) +
                          " of an all-reduce share memory: give each device an array of its own",
                      {{"array", b}, {"other", a}});
    call(streams, [&] { reduction->run(streams, values); });
  }

  /// Queues a reduction after all earlier ones.
  template <class Work>
  void call(std::vector<Stream>& streams, const Work& work) {
    calls.check(streams);
    reduction->check();
    if (machine.devices() == 1) return;
    calls.begin(streams);
    work();
    calls.end(streams);
  }

  /// Waits for all-reduces in flight, so that their memory can return to the arena.
  ~Impl() { calls.close(); }

  Machine machine;
  int rank;
  std::vector<int> devices;
  std::int64_t bytes = 0, bytes_of_array = 0;
  std::string reason;  ///< why the all-reduce uses `method`, and why others are unavailable
  ReduceMethod method = ReduceMethod::mpi;
  CallsInOrder calls{"an all-reduce"};
  std::unique_ptr<Reduction> reduction;  // the chosen all-reduce; destroyed before `calls`, to which it refers
};

AllReduce::AllReduce(const Communicator& comm, const Machine& machine, int values, DType type, Op op,
                     AllReduceOptions options)
    : impl_(std::make_unique<Impl>(comm, machine, values, type, op, options)) {}
AllReduce::~AllReduce() = default;
AllReduce::AllReduce(AllReduce&&) noexcept = default;
void AllReduce::run(std::vector<Stream>& streams, const std::vector<void*>& values) { impl_->run(streams, values); }
void AllReduce::run_sums(std::vector<Stream>& streams, const std::vector<SumOnDevice>& sums,
                         const std::vector<const double*>& parts, const std::vector<double*>& results) {
  impl_->call(streams, [&] { impl_->reduction->run_sums(streams, sums, parts, results); });
}
void AllReduce::check() const { impl_->reduction->check(); }
ReduceMethod AllReduce::method() const { return impl_->method; }
const std::string& AllReduce::reason() const { return impl_->reason; }
std::int64_t AllReduce::bytes_per_device() const { return impl_->bytes; }

AllReduce::Facts AllReduce::facts(ReduceMethod method) {
  require(method != ReduceMethod::automatic, "only a method that was chosen has facts: ask for peer, nccl or mpi");
  const auto row = [&](const char* name, const char* peer, const char* nccl, const char* mpi) {
    return Facts::value_type(name, method == ReduceMethod::peer ? peer : method == ReduceMethod::nccl ? nccl : mpi);
  };
  return {row("between", "devices of one node with peer access, in or across processes", "any GPUs", "any devices"),
          row("ranks per device", "any", "1", "any"),
          row("devices per rank", "any", "any", "any"),
          row("capturable", "yes", "yes", "no"),
          row("host work", "queues one kernel a device", "queues a copy, sends and receives, and a kernel a device",
              "blocks in run until all ranks' values are there"),
          row("holds while waiting", "one thread block",
              "the library's thread blocks, until a thread of the host ends them", "the host"),
          row("messages", "16 bytes a value, from every device to every other",
              "the values, from every device to every other",
              "the values of a rank's devices, from every rank to every other"),
          row("after a time-out", "values undefined; the object is unusable",
              "values undefined; nothing of the library's works any more, and a graph of the caller's hangs",
              "values as before; the object is unusable")};
}

}  // namespace slipstream
