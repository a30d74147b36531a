// omitted_wait N ROUTE: three exchanges with kernels before, between and after them, where the N-th wait of a stream
// for an event in the second exchange is left out (none where N is 0). ThreadSanitizer must tell of a race then, and of
// none otherwise. Two virtual devices exchange by ROUTE alone; by `kernel`, one device with itself. N counts the waits
// as the host queues them: in begin() each device's stream of the exchange for the caller's; for `peer`, then each
// sender's lane for that stream, and back; in end() the caller's for the exchange's.
//
// ThreadSanitizer sees a missing order only where nothing else orders the two sides by chance. The host does where it
// queues work on two streams, one after the other, once the first has done its part: both take the lock of a queue. So
// kernels wait at a gate until the host has queued what matters, and it opens the gate without ordering anything.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "device/host/omission.hpp"

namespace {

using namespace slipstream;

constexpr int exchanges = 3, tried = 2;

/// Holds kernels up until their round; relaxed, so that TSan sees no order in it.
struct Gate {
  void open(int round) { opened.store(round, std::memory_order_relaxed); }
  void await_steps(int count) const {
    for (int round = 0; stepped.load(std::memory_order_relaxed) < count; ++round) backoff(round);
  }
  std::atomic<int> opened{0}, stepped{0};
  int round = 0;  // of the host
};

/// An error must not leave streams waiting for ever.
struct Opener {
  Gate& gate;
  ~Opener() { gate.open(exchanges + 1); }
};

struct PassGate {
  const Gate* gate;
  int wanted;
  template <class Team>
  void operator()(const Team& team) const {
    const PassGate& self = *this;
    team.each([&self](int) {
      for (int round = 0; self.gate->opened.load(std::memory_order_relaxed) < self.wanted; ++round) backoff(round);
    });
  }
};

void pass(Stream& stream, const Gate& gate, int round) { launch_teams(stream, 1, 1, 0, PassGate{&gate, round}); }

struct CountStep {
  Gate* gate;
  void operator()(int, int, int) const { gate->stepped.fetch_add(1, std::memory_order_relaxed); }
};

/// Reads the ghosts of a block and overwrites its interior.
struct Step {
  View<float> values, seen;
  Extent extent;
  int round;
  void operator()(int i, int j, int k) const {
    const std::int64_t at = i * values.stride[0] + j * values.stride[1] + k * values.stride[2];
    const bool inside = i >= 0 && i < extent[0] && j >= 0 && j < extent[1] && k >= 0 && k < extent[2];
    if (inside) {
      values.origin[at] = static_cast<float>(round);
    } else {
      seen.origin[at] = values.origin[at];
    }
  }
};

/// Values as they are, delivered only when the host has queued the step after the exchange.
class HeldUp final : public Codec {
 public:
  explicit HeldUp(const Gate& gate) : gate_(gate) {}
  std::string name() const override { return "held up"; }
  bool lossless() const override { return true; }
  bool identity() const override { return false; }
  std::size_t wire_bytes(std::size_t bytes) const override { return bytes; }
  void encode(Stream& stream, const std::byte* values, std::size_t bytes, std::byte* wire) const override {
    copy(stream, wire, values, bytes);
  }
  void decode(Stream& stream, const std::byte* wire, std::size_t bytes, std::byte* values) const override {
    pass(stream, gate_, gate_.round + 1);
    copy(stream, values, wire, bytes);
  }

 private:
  const Gate& gate_;
};

void step(std::vector<Stream>& streams, Field& values, Field& seen, Gate& gate) {
  const Grid& grid = values.grid();
  for (const std::int64_t id : grid.local())
    for (Stream& stream : streams) {
      if (stream.device() != values.device(id)) continue;
      const Extent e = values.shape(id).extent;
      pass(stream, gate, gate.round);
      launch(stream, Box{{-1, -1, -1}, {e[0] + 1, e[1] + 1, e[2] + 1}},
             Step{values.view<float>(id), seen.view<float>(id), e, gate.round});
      launch(stream, Box{{0, 0, 0}, {1, 1, 1}}, CountStep{&gate});
    }
}

int run(int omitted, RouteKind kind) {
  const bool alone = kind == RouteKind::kernel;
  const int devices = alone ? 1 : 2, expected = (kind == RouteKind::peer ? 4 : 2) * devices;
  const Communicator comm = Communicator::world();
  Machine::Options machine_options;
  machine_options.backend = Backend::host;
  machine_options.devices_per_rank = devices;
  machine_options.bind = false;
  const Machine machine = Machine::discover(comm, machine_options);
  GridOptions grid_options;
  grid_options.periodic = {alone, alone, alone};  // open: no device is its own neighbour
  const Grid grid({16, 12, 10}, machine, comm.rank(), grid_options);
  FieldOptions field_options;
  field_options.ghost = {1, 1, 1};
  field_options.name = "values";
  Field values(grid, field_options);
  field_options.name = "seen";
  Field seen(grid, field_options);
  const Halo halo(Halo::Options{});

  std::vector<Stream> streams;
  for (const int d : machine.devices_of_rank(comm.rank())) streams.emplace_back(machine.device(d).local);
  Gate gate;
  ExchangeOptions options;
  options.routes = {kind};
  options.wait_limit = 10;
  if (kind == RouteKind::staged) {
    options.codec = std::make_shared<const HeldUp>(gate);
    options.knobs.streams = Lanes::one;  // the host, which drives the lanes, would order them by chance
  }
  Exchange exchange(comm, grid, {{&halo, &values}}, options);
  const Opener opener{gate};

  int waits = 0;
  for (int round = 1; round <= exchanges; ++round) {
    gate.round = round;
    step(streams, values, seen, gate);
    if (round == tried) host::omit_wait(omitted);
    exchange.begin(streams);
    // Where end() drives the route, the steps must be over before: it touches the queues of both streams.
    if (exchange.needs_host()) {
      gate.open(round);
      gate.await_steps(devices * round);
    }
    exchange.end(streams);
    if (round == tried) waits = host::waits_counted();
  }
  gate.round = exchanges + 1;
  step(streams, values, seen, gate);
  gate.open(exchanges + 1);
  for (Stream& stream : streams) stream.synchronize();
  exchange.check();

  std::printf("waits of an exchange by %s: %d\n", to_string(kind).c_str(), waits);
  if (waits == expected && omitted <= waits) return 0;
  std::fprintf(stderr, "this exchange should have %d waits: tests/CMakeLists.txt must try each\n", expected);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s N ROUTE\n", argv[0]);
    return 2;
  }
  try {
    return run(std::atoi(argv[1]), route_from_string(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
