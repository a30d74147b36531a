// omitted_wait N WAY: three exchanges, with kernels before, between and after them. Omits the N-th wait of a stream for
// an event in the second exchange; N = 0 omits none. ThreadSanitizer must report a race if a wait is missing, and none
// otherwise. Two virtual devices exchange by one route; for `kernel`, one device exchanges with itself. N counts waits
// in the order of the host, device by device. "A -> B": stream A waits for stream B. A lane is a stream for messages.
//
//   kernel, direct, staged  begin(): each device's exchange stream -> the caller's; end(): the caller's -> that stream
//   peer                    the same; between them, per device, the sender's lane -> the exchange stream, and back
//   staged_lanes            as staged; between them, each sender's lane -> the exchange stream; then, as messages
//                           arrive, each receiver's lane -> it; in end(), first, the exchange stream -> the lane
//   staged_directions       as staged_lanes; each receiver's lane also unpacks its message
//   staged_late             as staged_lanes; messages reach the last device before it has begun
//   direct_run              run(): one launch on the caller's stream, without waits
//   direct_order            as direct_run, then once more on other streams: each of these -> the end of the first call
//   peer_run                run() replays, per device: the sender's lane -> the caller's stream, and back
//
// ThreadSanitizer finds a missing wait only if nothing else orders both sides by chance. When the host queues work on
// two streams in sequence, the locks of their queues may order them. Kernels therefore wait at a gate until the host
// has queued all relevant work. Opening the gate synchronises nothing.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <slipstream/exchange.hpp>
#include <slipstream/launch.hpp>
#include <slipstream/signal.hpp>

#include "device/faults.hpp"
#include "device/host/omission.hpp"

namespace {

using namespace slipstream;

constexpr int exchanges = 3, tried = 2;

/// Holds kernels back until the host opens their round (exchange). Relaxed atomics, so TSan sees no synchronisation.
struct Gate {
  void open(int round) { opened.store(round, std::memory_order_relaxed); }
  void await_steps(int count) const {
    for (int round = 0; stepped.load(std::memory_order_relaxed) < count; ++round) backoff(round);
  }
  std::atomic<int> opened{0}, stepped{0};
  int round = 0;  // number of the exchange, from 1 on, whose kernels the host queues
};

/// Lets kernels that the test holds back run after an error, so that streams do not wait forever.
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

/// Kernel that sleeps, which gives kernels on other streams time to run once the host has let all of them start.
struct Pause {
  int milliseconds;
  template <class Team>
  void operator()(const Team& team) const {
    const int wanted = milliseconds;
    team.each([wanted](int) { std::this_thread::sleep_for(std::chrono::milliseconds(wanted)); });
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

/// Delays messages during its lifetime. They are sent some time after the host opens the gate, a barrier for kernels.
/// They are delivered only after the host has queued the step that follows the exchange.
struct HeldUp {
  explicit HeldUp(const Gate& gate) {
    faults::hold(faults::Lane::departure, [&gate](Stream& stream) {
      pass(stream, gate, gate.round);
      launch_teams(stream, 1, 1, 0, Pause{100});
    });
    faults::hold(faults::Lane::arrival, [&gate](Stream& stream) { pass(stream, gate, gate.round + 1); });
  }
  ~HeldUp() {
    faults::hold(faults::Lane::departure, {});
    faults::hold(faults::Lane::arrival, {});
  }
};

struct Scenario {
  std::string name;
  RouteKind route;
  int waits;
  Lanes lanes = Lanes::one;
  bool split = true;     ///< whether to call begin() and end(); false: run()
  bool held_up = false;  ///< whether to delay the streams of messages, whose order is random otherwise
  Pack pack = Pack::fused;
  bool late = false;   ///< whether to delay the last device, so that messages arrive before it is ready
  bool again = false;  ///< whether to call run() again on streams that the caller has not ordered
};

// With route `staged` (through host memory) the host queries messages' streams (lanes). That may order them by chance
// and hide a race from ThreadSanitizer. The route is therefore also tested without lanes.
const std::vector<Scenario> scenarios{
    {"kernel", RouteKind::kernel, 2},
    {"direct", RouteKind::direct, 4},
    {"direct_run", RouteKind::direct, 0, Lanes::one, false},
    {"direct_order", RouteKind::direct, 2, Lanes::one, false, false, Pack::fused, false, true},
    {"peer", RouteKind::peer, 8, Lanes::per_direction, true, true},
    {"peer_run", RouteKind::peer, 4, Lanes::per_direction, false, true},
    {"staged", RouteKind::staged, 4, Lanes::one, true, true},
    {"staged_lanes", RouteKind::staged, 10, Lanes::per_direction, true, true},
    {"staged_directions", RouteKind::staged, 10, Lanes::per_direction, true, true, Pack::per_direction},
    {"staged_late", RouteKind::staged, 10, Lanes::per_direction, true, true, Pack::fused, true},
};

const Scenario& scenario_of(const std::string& name) {
  std::string known;
  for (const Scenario& s : scenarios) {
    if (s.name == name) return s;
    known += " " + s.name;
  }
  throw Error(ErrorCode::invalid_argument, "there is no way '" + name + "' to exchange here, only" + known);
}

void step(std::vector<Stream>& streams, Field& values, Field& seen, Gate& gate, bool late) {
  const Grid& grid = values.grid();
  for (const std::int64_t id : grid.local())
    for (Stream& stream : streams) {
      if (stream.device() != values.device(id)) continue;
      const Extent e = values.shape(id).extent;
      pass(stream, gate, gate.round);
      launch(stream, Box{{-1, -1, -1}, {e[0] + 1, e[1] + 1, e[2] + 1}},
             Step{values.view<float>(id), seen.view<float>(id), e, gate.round});
      launch(stream, Box{{0, 0, 0}, {1, 1, 1}}, CountStep{&gate});
      if (late && &stream == &streams.back()) launch_teams(stream, 1, 1, 0, Pause{400});
    }
}

int run(int omitted, const Scenario& scenario) {
  const bool alone = scenario.route == RouteKind::kernel;
  const int devices = alone ? 1 : 2;
  const Communicator comm = Communicator::world();
  Machine::Options machine_options;
  machine_options.backend = Backend::host;
  machine_options.devices_per_rank = devices;
  machine_options.bind = false;
  const Machine machine = Machine::discover(comm, machine_options);
  GridOptions grid_options;
  grid_options.periodic = {alone, alone, alone};  // the box is not periodic: a device is not its own neighbour
  const Grid grid({16, 12, 10}, machine, comm.rank(), grid_options);
  FieldOptions field_options;
  field_options.ghost = {1, 1, 1};
  field_options.name = "values";
  Field values(grid, field_options);
  field_options.name = "seen";
  Field seen(grid, field_options);
  const Halo halo(Halo::Options{});

  std::vector<Stream> streams, others;
  for (const int d : machine.devices_of_rank(comm.rank()))
    for (auto* of : {&streams, &others}) of->emplace_back(machine.device(d).local);
  Gate gate;
  ExchangeOptions options;
  options.routes = {scenario.route};
  options.knobs.streams = scenario.lanes;
  options.knobs.pack = scenario.pack;
  std::optional<HeldUp> held_up;
  if (scenario.held_up) held_up.emplace(gate);
  Exchange exchange(comm, grid, {{&halo, &values}}, options);
  const Opener opener{gate};

  int waits = 0;
  for (int round = 1; round <= exchanges; ++round) {
    gate.round = round;
    step(streams, values, seen, gate, scenario.late);
    if (scenario.again) exchange.run(streams);
    if (round == tried) host::omit_wait(omitted);
    if (scenario.again) {
      exchange.run(others);
    } else if (scenario.split) {
      exchange.begin(streams);
      // If end() drives the route, kernels before it must end first, because it locks the queues of both streams.
      if (exchange.needs_host()) {
        gate.open(round);
        gate.await_steps(devices * round);
      }
      exchange.end(streams);
    } else {
      exchange.run(streams);
    }
    if (round == tried) waits = host::waits_counted();
    // The streams of the caller wait for the last exchange, because the next kernel modifies data that it reads.
    for (std::size_t i = 0; scenario.again && i < streams.size(); ++i) {
      const Event end(streams[i].device());
      others[i].record(end);
      streams[i].wait(end);
    }
  }
  gate.round = exchanges + 1;
  step(streams, values, seen, gate, scenario.late);
  gate.open(exchanges + 1);
  for (Stream& stream : streams) stream.synchronize();
  exchange.check();

  std::printf("waits of an exchange by %s: %d\n", scenario.name.c_str(), waits);
  if (waits == scenario.waits && omitted <= waits) return 0;
  std::fprintf(stderr, "this exchange should have %d waits: tests/CMakeLists.txt must try each\n", scenario.waits);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s N WAY\n", argv[0]);
    return 2;
  }
  try {
    return run(std::atoi(argv[1]), scenario_of(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
