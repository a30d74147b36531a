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

/// Whether a step computes its interior while the exchange is under way. `automatic`: where messages leave a GPU.
enum class Overlap : std::uint8_t { automatic, off, on };
enum class Part : std::uint8_t { all, interior, rim };

/// Arrays of a kind on one device, as a plan lists them.
struct ArrayBytes {
  int device = 0;
  std::string array;
  std::int64_t bytes = 0;
};

struct Task;
using Tasks = std::vector<Task>;

/// Queues work on the device-th device of this rank. `interior` reads no ghost; `all` is interior and rim together.
using Kernel = std::function<void(Stream&, std::size_t device, Part)>;

/// Work that devices do together: a reduction whose result stays on them, a transform.
struct Collective {
  std::function<void(std::vector<Stream>&)> run;
  std::function<void()> check;  ///< throws Timeout where a wait of an earlier run gave up
  bool capturable = false;
  bool loopable = false;  ///< whether it may be repeated within a graph
};

/// Tasks that are repeated until a number on the devices says that it is enough; they run once at least.
struct Loop {
  Tasks tasks;
  /// In memory of each device of this rank, alike on all devices of all ranks: after a pass another one follows where
  /// this is not 0.
  std::vector<const std::int32_t*> go_on;
  std::int64_t most = 1000;  ///< passes, whatever go_on says
  /// Passes between two looks of the host, where the loop is not part of a graph. Those after the last one that was
  /// needed must change nothing.
  int look_every = 1;
};

/// One thing that a step does, on all devices: a kernel, an exchange, work of all devices together or a loop. A step is
/// a list of tasks, in the order in which one would tell it.
struct Task {
  std::string name;
  Kernel kernel = {};
  /// Whether the kernel can be queued as interior and rim: the interior then overlaps the exchange that comes before
  /// it.
  bool splits = false;
  Exchange* exchange = nullptr;
  std::optional<Collective> collective = {};
  std::shared_ptr<const Loop> loop = {};
};

Task kernel_task(std::string name, Kernel kernel);
/// A kernel that reads the ghosts of the exchange before it, and can be queued as interior and rim.
Task split_kernel_task(std::string name, Kernel kernel);
Task exchange_task(std::string name, Exchange& exchange);
Task collective_task(std::string name, Collective collective);
Task loop_task(std::string name, Loop loop);
/// `sums`: a BlockSums (block_sums.hpp), which must outlive the task; parts and results as in BlockSums::run().
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

/// What a TimeLoop keeps for a loop: whether another pass follows.
class Again;

/// What a TimeLoop must know to record steps and replay them as a graph.
struct Recording {
  int period = 0;            ///< after so many steps the same work is queued again; 0: a step is never the same
  int phase = 0;             ///< of the step to come, 0 .. period - 1
  std::uint64_t serial = 0;  ///< another one whenever what was recorded is out of date
};

/// A State and a step. Knows nothing of ranks, routes or pictures; the time loop runs it.
class Simulation {
 public:
  virtual ~Simulation() = default;
  virtual State& state() = 0;
  virtual const std::vector<Device>& devices() const = 0;
  /// Those of the next step.
  virtual const Tasks& tasks() const = 0;
  /// Those of the step at a phase of recording(), where not all steps have the same.
  virtual const Tasks& tasks_at(int /*phase*/) const { return tasks(); }
  /// Called on the host before the first step of a run, the devices being idle: puts back what was rearranged for
  /// others.
  virtual void begin_steps() {}
  /// Called on the host after a step has been queued: swaps arrays, counts the step.
  virtual void finish_step() = 0;
  virtual Recording recording() const { return {}; }
  /// What a guard looks at: if a solver does not say otherwise, every component of its fields of f32 and f64.
  virtual std::vector<Watched> watched();
};

/// Runs a Simulation: owns the streams, the overlap and the timing. Where the exchange overlaps the interior, it ends
/// on streams of high priority, on which the rim is computed beside the interior. Steps that need no host are recorded,
/// as many as a Recording says, and replayed as one graph a device; not while they are traced. A loop within a step is
/// a graph of its own that repeats itself without the host, where its exchanges may be repeated so
/// (Exchange::loopable); elsewhere the host looks after every few passes whether to go on.
class TimeLoop {
 public:
  /// `trace` records what the steps do; it must outlive the loop.
  TimeLoop(Simulation& simulation, Overlap overlap, Trace* trace = nullptr);
  ~TimeLoop();

  /// From now on the watched quantities are inspected after each step whose number is a multiple of `every`, and run()
  /// is collective and throws Diverged, at the latest at its own end or `every` steps later.
  void guard(const Communicator& comm, GuardOptions options);
  /// Inspects what the last step left, and throws Diverged; does nothing without a guard. Collective.
  void inspect();

  /// Queues the steps and waits for them. Throws what they threw (Timeout of an exchange among it).
  void run(std::int64_t steps);
  std::vector<Stream>& streams() { return streams_; }
  bool overlapped() const { return overlap_; }

  /// Device time of one part of the step, measured by events in one step of `sample_every` on this rank's first device:
  /// from the end of the part before it, so that what is hidden takes no time.
  struct Phase {
    std::string name;
    std::int64_t calls = 0;
    double seconds = 0;  ///< calls times the mean of the sampled ones
  };
  std::vector<Phase> phases() const;

 private:
  static constexpr std::int64_t sample_every = 50;
  static constexpr std::int64_t most_replayed = 16;
  static constexpr std::int64_t queue_depth = 32;  ///< steps that the host may run ahead of the devices
  struct Mark {
    std::string name;
    Event event;
  };
  using Marks = std::vector<Mark>;
  /// Work between loops, or a loop: a graph a device.
  struct Segment {
    std::vector<Graph> graphs;
    Again* again = nullptr;  // of a loop
  };
  struct Replay {
    Recording of;
    std::int64_t steps = 0;
    std::vector<Segment> parts;
  };
  void step(Marks* marks);
  void run_tasks(const Task* first, const Task* behind, Marks* marks);
  void run_loop(const Task& task);
  void beside_interior(const Task& exchange, const Task& kernel, Marks* marks);
  void queue_kernel(const Task& task, Part part, std::vector<Stream>& streams);
  Again& again(const Loop& loop);
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
  std::vector<Stream> rim_streams_;   // where steps overlap
  std::optional<Replay> replays_[2];  // one period of steps, and many
  std::unique_ptr<Guard> guard_;
  std::set<Exchange*> used_;
  std::map<const Loop*, std::unique_ptr<Again>> again_;
  std::int64_t steps_ = 0;
  std::int64_t sampled_ = 0;
  std::vector<std::pair<std::string, double>> sums_;  // milliseconds
};

}  // namespace slipstream
