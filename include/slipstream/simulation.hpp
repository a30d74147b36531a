#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <slipstream/exchange.hpp>
#include <slipstream/guard.hpp>
#include <slipstream/state.hpp>
#include <slipstream/stream.hpp>

namespace slipstream {

/// Whether a step overlaps its interior with the exchange. `automatic`: where messages leave a GPU.
enum class Overlap : std::uint8_t { automatic, off, on };
enum class Part : std::uint8_t { all, interior, boundary };

/// Bytes that arrays of one kind take on one device, as a memory plan lists them before anything is allocated.
struct ArrayBytes {
  int device = 0;
  std::string array;
  std::int64_t bytes = 0;
};

struct Task;
using Tasks = std::vector<Task>;

/// Function that queues computation on one device of this rank, for a part of each block. Cells of Part::interior read
/// no ghosts. Part::boundary is the region that needs the neighbours' values; Part::all is both.
using Kernel = std::function<void(Stream&, std::size_t device, Part)>;

/// Work that all devices do together, such as a reduction whose result stays on them, or a transform.
struct Collective {
  std::function<void(std::vector<Stream>&)> run;
  std::function<void()> check;  ///< throws Timeout if a wait for another rank timed out in an earlier run()
  bool capturable = false;
  bool loopable = false;  ///< whether a CUDA graph may repeat the work in a loop
};

/// Tasks of a step that iterate, as those of a linear solver, until the devices set a condition to 0; at least once.
struct Loop {
  Tasks tasks;
  /// Addresses of the loop condition, an integer in memory of each device of this rank. It has the same value on all
  /// devices of all ranks. The tasks are repeated while it is not 0.
  std::vector<const std::int32_t*> go_on;
  std::int64_t most = 1000;  ///< largest number of iterations, even if the stopping condition is never met
  /// Number of passes of an iterative solver between two checks by the host whether it has converged, if no graph holds
  /// the loop. Passes after convergence must change nothing.
  int look_every = 1;
};

/// One task of a step, on all devices: a kernel, an exchange, collective work or a loop. A step is a list of tasks in
/// sequential order.
struct Task {
  std::string name;
  Kernel kernel = {};
  /// Whether the kernel can be split into interior and boundary region. The interior then overlaps the exchange before
  /// it.
  bool splits = false;
  Exchange* exchange = nullptr;
  std::optional<Collective> collective = {};
  std::shared_ptr<const Loop> loop = {};
};

Task kernel_task(std::string name, Kernel kernel);
/// A kernel that reads the ghosts of the exchange before it, and can be split into interior and boundary region.
Task split_kernel_task(std::string name, Kernel kernel);
Task exchange_task(std::string name, Exchange& exchange);
Task collective_task(std::string name, Collective collective);
Task loop_task(std::string name, Loop loop);
/// Task that adds partial sums of blocks on all devices. `sums`, a BlockSums (block_sums.hpp), must outlive the task.
template <class Sums>
Task sum_task(std::string name, Sums& sums, std::vector<const double*> parts, std::vector<double*> results) {
  Collective collective;
  collective.run = [&sums, parts = std::move(parts), results = std::move(results)](std::vector<Stream>& streams) {
    sums.run(streams, parts, results);
  };
  collective.check = [&sums] { sums.check(); };
  collective.capturable = sums.capturable();
  collective.loopable = sums.loopable();
  return collective_task(std::move(name), std::move(collective));
}

/// Condition in device memory that decides whether a loop of tasks within a step runs once more.
class LoopCondition;

/// Tells a TimeLoop after how many steps a solver queues the same work again, so that it can replay graphs of steps.
struct Recording {
  int period = 0;            ///< number of steps after which the same work is queued again; 0: steps never repeat
  int phase = 0;             ///< number of the next time step within a period of repeated work, 0 .. period - 1
  std::uint64_t serial = 0;  ///< number that changes whenever earlier recorded graphs become invalid
};

/// Interface of solvers: a State and a step. A TimeLoop runs it. It does not depend on ranks, routes or pictures.
class Simulation {
 public:
  virtual ~Simulation() = default;
  virtual State& state() = 0;
  virtual const std::vector<Device>& devices() const = 0;
  /// Kernels, exchanges and other tasks of the next time step.
  virtual const Tasks& tasks() const = 0;
  /// Tasks of the time step at a given phase, for solvers whose steps differ but repeat after a period.
  virtual const Tasks& tasks_at(int) const { return tasks(); }
  /// Called on the host before the first step of a run, while the devices are idle. It restores the solver's internal
  /// memory layout of fields that were rearranged so that output and checkpoints could read them.
  virtual void begin_steps() {}
  /// Called on the host after a step has been queued: swaps arrays, counts the step.
  virtual void finish_step() = 0;
  virtual Recording recording() const { return {}; }
  /// Quantities that the divergence check inspects. The default is every component of the fields of f32 and f64.
  virtual std::vector<Watched> watched();
};

/// Runs a Simulation: owns the streams, the overlap and the timing. Where the exchange overlaps the interior, it ends
/// on streams of high priority. The boundary region is computed on them, concurrently with the interior. Steps that
/// need no host are recorded for whole periods (Recording) and replayed as one graph a device, unless they are traced.
/// A loop within a step is a separate graph that repeats without the host, if its exchanges allow that
/// (Exchange::loopable). Otherwise the host checks after every few passes whether to continue.
class TimeLoop {
 public:
  /// `trace` records what the steps do; it must outlive the loop.
  TimeLoop(Simulation& simulation, Overlap overlap, Trace* trace = nullptr);
  ~TimeLoop();

  /// From now on checks for divergence (values not finite or out of range) after each step that is a multiple of
  /// `every`. This makes run() collective: it throws Diverged at most `every` steps after the check, or at its end.
  void guard(const Communicator& comm, GuardOptions options);
  /// Throws Diverged if values are unsound after the last step; does nothing unless guard() was called. Collective.
  void inspect();

  /// Queues the steps and waits for them. Throws their errors, such as the Timeout of an exchange.
  void run(std::int64_t steps);
  std::vector<Stream>& streams() { return streams_; }
  bool overlapped() const { return overlap_; }

  /// Device time of one part of the step, measured by events in every `sample_every`-th step on this rank's first
  /// device. It counts from the end of the part before, so hidden work takes no time.
  struct Phase {
    std::string name;
    std::int64_t calls = 0;
    double seconds = 0;  ///< estimated device time of all calls of this phase: their number times the measured mean
  };
  std::vector<Phase> phases() const;

 private:
  static constexpr std::int64_t sample_every = 50;
  static constexpr std::int64_t most_replayed = 16;
  static constexpr std::int64_t queue_depth = 32;  ///< number of steps that the host may run ahead of the devices
  struct Mark {
    std::string name;
    Event event;
  };
  using Marks = std::vector<Mark>;
  /// Part of recorded steps, as one graph for each device: a loop, or all work between two loops.
  struct Segment {
    std::vector<Graph> graphs;
    LoopCondition* condition = nullptr;  // decides whether the graph's loop repeats; null without a loop
  };
  struct Replay {
    Recording of;
    std::int64_t steps = 0;
    std::vector<Segment> parts;
  };
  void step(Marks* marks);
  void run_tasks(const Task* first, const Task* behind, Marks* marks);
  void run_loop(const Task& task);
  void overlap_interior(const Task& exchange, const Task& kernel, Marks* marks);
  void queue_kernel(const Task& task, Part part, std::vector<Stream>& streams);
  LoopCondition& condition_of(const Loop& loop);
  static void mark(Marks* marks, const std::string& name, Stream& stream);
  bool recordable() const;
  bool replay(std::int64_t steps);
  Replay record(std::int64_t steps);
  void collect(const Marks& marks);
  void stop_if_diverged();

  Simulation& simulation_;
  bool overlap_ = false;
  Trace* trace_ = nullptr;
  std::vector<Stream> streams_;
  std::vector<Stream> boundary_streams_;  // run kernels for cells that wait for halos; empty without overlap
  std::optional<Replay> replays_[2];      // CUDA graphs of one cycle of repeating time steps, and of many cycles
  std::unique_ptr<Guard> guard_;
  std::set<Exchange*> used_;
  std::map<const Loop*, std::unique_ptr<LoopCondition>> conditions_;
  std::int64_t steps_ = 0;
  std::int64_t sampled_ = 0;
  std::vector<std::pair<std::string, double>> sums_;  // milliseconds of each part of a step
};

}  // namespace slipstream
