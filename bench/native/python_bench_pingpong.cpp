// Timed round trips of `slipstream bench pingpong`: by an Exchange with one route, or by MPI alone.
#include <dlfcn.h>
#include <nanobind/stl/pair.h>

#include <numeric>

#include <slipstream/exchange.hpp>

#include "native/python_bench.hpp"
#include "native/timed_loops.hpp"

namespace slipstream::python {
namespace {

/// Pattern that moves all values of one block to another of the same size.
class OneWay final : public Pattern {
 public:
  OneWay(std::int64_t source, std::int64_t target) : source_(source), target_(target) {}
  std::string name() const override { return "one way from block " + std::to_string(source_); }
  std::vector<Transfer> transfers(const Grid& grid, int, const Extent&, int rank) const override {
    if (grid.block(source_).rank != rank && grid.block(target_).rank != rank) return {};
    const IndexSet all{{{0, 0, 0}, grid.block(source_).box.extents()}, {0}, nullptr};
    return {{source_, target_, all, all, Op::copy}};
  }

 private:
  std::int64_t source_, target_;
};

/// Number of round trips that take about `budget` seconds; the same on all ranks. Collective.
int agree_on_count(const Communicator& comm, double budget, const std::function<void()>& trip) {
  trip();
  comm.barrier();
  const double began = seconds_now();
  for (int n = 0; n < 3; ++n) trip();
  const double each = comm.max(seconds_now() - began) / 3;
  return std::clamp(static_cast<int>(budget / each), 3, 300);
}

/// Median seconds of single round trips by the host's clock, on the slowest rank. Collective.
double host_seconds(const Communicator& comm, int count, const std::function<void()>& trip) {
  comm.barrier();
  std::vector<double> all;
  for (int n = 0; n < count; ++n) {
    const double began = seconds_now();
    trip();
    all.push_back(seconds_now() - began);
  }
  return comm.max(median(all));
}

/// Two blocks, a field on them, and an exchange in each direction between them.
class RoutePingPong {
 public:
  RoutePingPong(const Communicator& comm, const Machine& machine, int a, int b, std::size_t bytes, RouteKind kind,
                const Throttle& throttle)
      : comm_(comm), machine_(machine), a_(a), count_(static_cast<std::int64_t>(bytes / sizeof(double))) {
    GridOptions options;
    options.boxes = {block(a, 0), block(b, count_)};
    grid_ = std::make_unique<Grid>(Extent{2 * count_, 1, 1}, machine, comm.rank(), options);
    FieldOptions field;
    field.name = "message";
    field.type = DType::f64;
    field.shared = true;
    ExchangeOptions route;
    route.routes = {kind};
    route.throttle = throttle;
    // All ranks plan all messages before any collective set-up: a rank without blocks would otherwise see no error.
    for (const OneWay* pattern : {&there_, &back_}) plan_messages(*grid_, {{pattern, field}}, route);
    field_ = std::make_unique<Field>(*grid_, field);
    for (const OneWay* pattern : {&there_, &back_})
      exchanges_.push_back(
          std::make_unique<Exchange>(comm, *grid_, std::vector<ExchangeItem>{{pattern, field_.get()}}, route));
    for (const int device : machine.devices_of_rank(comm.rank())) streams_.emplace_back(machine.device(device).local);
  }

  /// Sends one message in each direction. With `wait` the host waits for each arrival before the reply, as in MPI.
  void trip(bool wait) {
    for (auto& exchange : exchanges_) {
      exchange->run(streams_);
      if (wait) synchronize();
    }
  }

  void synchronize() { python::synchronize(streams_); }

  /// Device seconds of a round trip, with `count` of them queued. Collective.
  double device_seconds(int count) {
    const std::vector<int> mine = machine_.devices_of_rank(comm_.rank());
    const auto at = std::find(mine.begin(), mine.end(), a_);
    comm_.barrier();
    double seconds = 0;
    if (at == mine.end()) {
      for (int n = 0; n < count; ++n) trip(false);
      synchronize();
    } else {
      Stream& stream = streams_[at - mine.begin()];
      const Event start(stream.device(), true), end(stream.device(), true);
      stream.record(start);
      for (int n = 0; n < count; ++n) trip(false);
      stream.record(end);
      synchronize();
      seconds = milliseconds(start, end) * 1e-3 / count;
    }
    return comm_.max(seconds);
  }

  /// Fills the first block with numbers and clears the second, so that a message can be recognised.
  void fill_message() {
    std::vector<double> values(static_cast<std::size_t>(count_), -1.0);
    field_->write(grid_->block(1).box, values.data());
    std::iota(values.begin(), values.end(), 0.0);
    field_->write(grid_->block(0).box, values.data());
  }

  bool arrived() const {
    if (grid_->block(1).rank != comm_.rank()) return true;
    std::vector<double> values(static_cast<std::size_t>(count_), -1.0);
    field_->read(grid_->block(1).box, values.data());
    for (std::int64_t n = 0; n < count_; ++n)
      if (values[static_cast<std::size_t>(n)] != static_cast<double>(n)) return false;
    return true;
  }

 private:
  Block block(int device, std::int64_t low) const {
    Block result;
    result.box = {{low, 0, 0}, {low + count_, 1, 1}};
    result.device = device;
    return result;
  }

  Communicator comm_;
  const Machine& machine_;
  int a_;
  std::int64_t count_;
  OneWay there_{0, 1}, back_{1, 0};
  std::unique_ptr<Grid> grid_;
  std::unique_ptr<Field> field_;
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<Stream> streams_;
};

/// Times round trips of messages of all sizes, by one route between two devices. Collective.
class RoutePingPongs {
 public:
  RoutePingPongs(const Machine& machine, int a, int b, const std::string& route, const std::string& throttle)
      : machine_(machine), a_(a), b_(b), route_(route), throttle_(throttle_from_string(throttle)) {
    const Communicator& comm = world();
    std::string refused;
    try {
      first_ = make(sizeof(double));
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      refused = error.what();
    }
    if (comm.all(refused.empty())) return;
    for (const std::string& reason : comm.all_gather(refused))
      if (!reason.empty()) refused_ = reason;
  }

  /// Text on why the route cannot connect the two devices; empty if it can.
  const std::string& refused() const { return refused_; }

  /// Microseconds of half a round trip by the host's clock and by device events.
  std::pair<double, double> time(std::size_t bytes, double budget) {
    const Communicator& comm = world();
    const auto pair = make(bytes);
    pair->fill_message();
    const int count = agree_on_count(comm, budget, [&] { pair->trip(true); });
    const double host = host_seconds(comm, count, [&] { pair->trip(true); });
    std::vector<double> rounds;
    for (int round = 0; round < 3; ++round) rounds.push_back(pair->device_seconds(count));
    require(comm.all(pair->arrived()), ErrorCode::internal,
            "a message of " + std::to_string(bytes) + " bytes by the route " + route_ + " arrived with wrong values");
    return {host / 2 * 1e6, median(rounds) / 2 * 1e6};
  }

 private:
  std::unique_ptr<RoutePingPong> make(std::size_t bytes) const {
    return std::make_unique<RoutePingPong>(world(), machine_, a_, b_, bytes, route_from_string(route_), throttle_);
  }

  const Machine& machine_;
  int a_, b_;
  std::string route_, refused_;
  Throttle throttle_;
  // An exchange that outlives all timed ones, so that NCCL and NVSHMEM connect the devices only once.
  std::unique_ptr<RoutePingPong> first_;
};

/// One of the two ranks of an MPI ping-pong, with its send and receive buffers.
class MpiEnd {
 public:
  MpiEnd(Device device, std::size_t bytes, const std::string& memory) : stream_(device), bytes_(bytes) {
    require(memory == "host" || memory == "staged" || memory == "device", "unknown memory '" + memory + "'",
            {{"option", "memory"}, {"given", memory}});
    if (memory != "device") host_ = Buffer<std::byte>(device, bytes, Memory::pinned);
    if (memory != "host") device_ = Buffer<std::byte>(device, bytes, Memory::message);
  }
  std::byte* wire() const { return host_.size() ? host_.data() : device_.data(); }
  /// Copies values from device memory to the host for MPI. A GPU-aware MPI needs no such copies.
  void fetch() { staged_copy(host_.data(), device_.data()); }
  void deliver() { staged_copy(device_.data(), host_.data()); }

  void set(const std::vector<std::byte>& values) {
    copy(stream_, home(), values.data(), bytes_);
    stream_.synchronize();
  }
  std::vector<std::byte> get() {
    std::vector<std::byte> values(bytes_);
    copy(stream_, values.data(), home(), bytes_);
    stream_.synchronize();
    return values;
  }

 private:
  std::byte* home() const { return device_.size() ? device_.data() : host_.data(); }
  void staged_copy(std::byte* to, const std::byte* from) {
    if (!host_.size() || !device_.size()) return;
    copy(stream_, to, from, bytes_);
    stream_.synchronize();
  }
  Stream stream_;
  std::size_t bytes_;
  Buffer<std::byte> host_, device_;
};

/// Seconds of half a round trip of MPI_Send and MPI_Recv between the ranks of two devices. Collective.
double mpi_pingpong(const Machine& machine, int a, int b, std::size_t bytes, const std::string& memory, double budget) {
  const Communicator& comm = world();
  const int first = machine.device(a).rank, second = machine.device(b).rank;
  require(first != second, ErrorCode::unsupported, "a ping-pong of MPI needs two ranks");
  require(bytes <= 0x7fffffff, ErrorCode::unsupported, "a ping-pong of MPI takes messages below 2 GB");
  const bool leads = comm.rank() == first, answers = comm.rank() == second;
  std::unique_ptr<MpiEnd> end;
  if (leads || answers) end = std::make_unique<MpiEnd>(machine.device(leads ? a : b).local, bytes, memory);
  std::vector<std::byte> values(end ? bytes : 0);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<std::byte>(n * 7 + 3);
  if (leads) end->set(values);
  if (answers) end->set(std::vector<std::byte>(bytes));
  const int count = static_cast<int>(bytes);
  const auto send = [&](int to) {
    end->fetch();
    check_mpi(MPI_Send(end->wire(), count, MPI_BYTE, to, 0, comm.mpi()), "send a ping-pong");
  };
  const auto receive = [&](int from) {
    check_mpi(MPI_Recv(end->wire(), count, MPI_BYTE, from, 0, comm.mpi(), MPI_STATUS_IGNORE), "receive a ping-pong");
    end->deliver();
  };
  const auto trip = [&] {
    if (leads) {
      send(second);
      receive(second);
    } else if (answers) {
      receive(first);
      send(first);
    }
  };
  // The slowest rank determines the number of trips, because ranks that take no part finish theirs at once.
  const int trips = agree_on_count(comm, budget, trip);
  const double seconds = host_seconds(comm, trips, trip);
  require(comm.all(!answers || end->get() == values), ErrorCode::internal,
          "a message of " + std::to_string(bytes) + " bytes in " + memory +
              " memory arrived through MPI with wrong values");
  return seconds / 2 * 1e6;
}

/// Whether MPI claims to support GPU memory; None if unknown. The query is looked up by name, because only some MPI
/// libraries have it.
nb::object mpi_gpu_aware() {
  using Query = int (*)();
  for (const char* name : {"MPIX_Query_cuda_support", "MPIX_Query_rocm_support"})
    if (const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, name)); query && query() != 0)
      return nb::bool_(true);
  return dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support") ? nb::object(nb::bool_(false)) : nb::none();
}

}  // namespace

void bind_bench_pingpong(nb::module_& m) {
  nb::class_<RoutePingPongs>(m, "RoutePingPongs")
      .def(nb::init<const Machine&, int, int, const std::string&, const std::string&>(), nb::arg("machine"),
           nb::arg("a"), nb::arg("b"), nb::arg("route"), nb::arg("throttle") = "none", nb::keep_alive<1, 2>())
      .def_prop_ro("refused", &RoutePingPongs::refused)
      .def("time", &RoutePingPongs::time, nb::arg("bytes"), nb::arg("budget"), nb::call_guard<Released>());
  m.def("mpi_pingpong", &mpi_pingpong, nb::arg("machine"), nb::arg("a"), nb::arg("b"), nb::arg("bytes"),
        nb::arg("memory"), nb::arg("budget"), nb::call_guard<Released>());
  m.def("mpi_gpu_aware", &mpi_gpu_aware);
}

}  // namespace slipstream::python
