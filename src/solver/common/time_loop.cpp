#include <algorithm>
#include <deque>
#include <set>

#include <slipstream/error.hpp>
#include <slipstream/simulation.hpp>
#include <slipstream/trace.hpp>

#include "device/record_graphs.hpp"
#include "solver/common/loop_condition.hpp"

namespace slipstream {
namespace {

bool leaves_a_gpu(const Exchange& exchange) {
  const auto& all = exchange.messages();
  return std::any_of(all.begin(), all.end(), [](const MessageInfo& m) { return !traits_of(m.route).within_device; });
}

/// Whether look(task) returns true for any task, including those within loops.
bool any(const Tasks& tasks, const std::function<bool(const Task&)>& look) {
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const Task& task) { return look(task) || (task.loop && any(task.loop->tasks, look)); });
}

/// Tasks of all time steps until the same work recurs (a period), or of the next step if steps never repeat.
std::vector<const Tasks*> all_tasks(const Simulation& simulation) {
  const int period = simulation.recording().period;
  std::vector<const Tasks*> all;
  for (int phase = 0; phase < period; ++phase) all.push_back(&simulation.tasks_at(phase));
  if (all.empty()) all.push_back(&simulation.tasks());
  return all;
}

bool any_of_a_period(const Simulation& simulation, const std::function<bool(const Task&)>& look) {
  const auto all = all_tasks(simulation);
  return std::any_of(all.begin(), all.end(), [&](const Tasks* tasks) { return any(*tasks, look); });
}

/// Throws errors of tasks that all devices do together, such as solves, within loops too.
void check_collectives(const Tasks& tasks) {
  for (const Task& task : tasks) {
    if (task.collective) task.collective->check();
    if (task.loop) check_collectives(task.loop->tasks);
  }
}

void check_exchanges(const Tasks& tasks, std::set<Exchange*>& left) {
  for (const Task& task : tasks) {
    if (left.erase(task.exchange)) task.exchange->check();
    if (task.loop) check_exchanges(task.loop->tasks, left);
  }
}

/// Throws errors of exchanges, in the order of the tasks, because the check is collective.
void check_exchanges(const Simulation& simulation, std::set<Exchange*> used) {
  for (const Tasks* tasks : all_tasks(simulation)) check_exchanges(*tasks, used);
  for (Exchange* exchange : used) exchange->check();  // exchanges used only outside of the repeated time steps
}

bool worth_overlapping(const Simulation& simulation) {
  if (simulation.devices().empty() || simulation.devices().front().backend != Backend::cuda) return false;
  return any(simulation.tasks(), [](const Task& task) { return task.exchange && leaves_a_gpu(*task.exchange); });
}

/// Whether a graph may contain all tasks of a loop.
bool loopable(const Loop& loop) {
  return !any(loop.tasks, [](const Task& task) {
    return task.loop || (task.exchange && !task.exchange->loopable()) ||
           (task.collective && !task.collective->loopable);
  });
}

}  // namespace

Task kernel_task(std::string name, Kernel kernel) { return {.name = std::move(name), .kernel = std::move(kernel)}; }

Task split_kernel_task(std::string name, Kernel kernel) {
  return {.name = std::move(name), .kernel = std::move(kernel), .splits = true};
}

Task exchange_task(std::string name, Exchange& exchange) { return {.name = std::move(name), .exchange = &exchange}; }

Task collective_task(std::string name, Collective collective) {
  return {.name = std::move(name), .collective = std::move(collective)};
}

Task loop_task(std::string name, Loop loop) {
  return {.name = std::move(name), .loop = std::make_shared<const Loop>(std::move(loop))};
}

std::vector<Watched> Simulation::watched() {
  std::vector<Watched> all;
  for (const auto& [name, field] : state().fields) {
    const DType type = field->options().type;
    if (type == DType::f32 || type == DType::f64) all.push_back({name, field});
  }
  return all;
}

TimeLoop::TimeLoop(Simulation& simulation, Overlap overlap, Trace* trace)
    : simulation_(simulation),
      overlap_(overlap == Overlap::on || (overlap == Overlap::automatic && worth_overlapping(simulation))),
      trace_(trace) {
  for (const Device device : simulation.devices()) {
    streams_.emplace_back(device);
    if (overlap_) boundary_streams_.emplace_back(device, Priority::high);
  }
}

TimeLoop::~TimeLoop() = default;

void TimeLoop::mark(Marks* marks, const std::string& name, Stream& stream) {
  if (!marks) return;
  marks->push_back({name, Event(stream.device(), true)});
  stream.record(marks->back().event);
}

void TimeLoop::queue_kernel(const Task& task, Part part, std::vector<Stream>& streams) {
  const std::string name = part == Part::all ? task.name : part == Part::interior ? "interior" : "boundary";
  for (std::size_t d = 0; d < streams.size(); ++d) {
    const DeviceSpan span(trace_, streams[d], part == Part::boundary ? "boundary" : "solver", name, "compute");
    task.kernel(streams[d], d, part);
  }
}

/// Computes the interior while separate streams run an exchange, and after it the kernel of the boundary region.
void TimeLoop::overlap_interior(const Task& exchange, const Task& kernel, Marks* marks) {
  exchange.exchange->begin(streams_);
  for (std::size_t d = 0; d < streams_.size(); ++d) {
    const Event ready(streams_[d].device());
    streams_[d].record(ready);
    boundary_streams_[d].wait(ready);
  }
  queue_kernel(kernel, Part::interior, streams_);
  mark(marks, kernel.name + ", interior", streams_.front());
  exchange.exchange->end(boundary_streams_);
  mark(marks, exchange.name + ", not hidden", boundary_streams_.front());
  queue_kernel(kernel, Part::boundary, boundary_streams_);
  for (std::size_t d = 0; d < streams_.size(); ++d) {
    const Event done(streams_[d].device());
    boundary_streams_[d].record(done);
    streams_[d].wait(done);
  }
  mark(marks, kernel.name + ", boundary", streams_.front());
}

void TimeLoop::run_tasks(const Task* first, const Task* behind, Marks* marks) {
  for (const Task* task = first; task != behind; ++task) {
    if (task->exchange) {
      used_.insert(task->exchange);
      if (const Task* next = task + 1; overlap_ && next != behind && next->kernel && next->splits) {
        overlap_interior(*task++, *next, marks);
        continue;
      }
      task->exchange->run(streams_);
    } else if (task->collective) {
      task->collective->run(streams_);
    } else if (task->loop) {
      run_loop(*task);
    } else {
      queue_kernel(*task, Part::all, streams_);
    }
    mark(marks, task->name, streams_.front());
  }
}

LoopCondition& TimeLoop::condition_of(const Loop& loop) {
  std::unique_ptr<LoopCondition>& found = conditions_[&loop];
  if (!found) found = std::make_unique<LoopCondition>(loop, simulation_.devices());
  return *found;
}

/// Runs a loop whose condition the host evaluates. Its passes record no timing events: there would be too many.
void TimeLoop::run_loop(const Task& task) {
  const Tasks& tasks = task.loop->tasks;
  LoopCondition& ending = condition_of(*task.loop);
  ending.reset(streams_);
  // The condition has the same value on all ranks, so all ranks make the same number of passes.
  for (std::int64_t pass = 1;; ++pass) {
    run_tasks(tasks.data(), tasks.data() + tasks.size(), nullptr);
    ending.count(streams_);
    if (pass >= task.loop->most) return;
    if (pass % task.loop->look_every == 0 && !ending.look(streams_)) return;
  }
}

void TimeLoop::step(Marks* marks) {
  const HostSpan span(trace_, "step", "step");
  if (marks) mark(marks, "", streams_.front());
  const Tasks& tasks = simulation_.tasks();
  run_tasks(tasks.data(), tasks.data() + tasks.size(), marks);
  simulation_.finish_step();
  ++steps_;
}

/// Whether steps may be recorded as graphs; a trace needs single steps.
bool TimeLoop::recordable() const {
  const auto needs_host = [](const Task& task) {
    if (task.loop) return !loopable(*task.loop);
    if (task.collective) return !task.collective->capturable;
    return task.exchange && !(task.exchange->capturable() && task.exchange->limited_in_graphs());
  };
  return !trace_ && !any_of_a_period(simulation_, needs_host);
}

/// Records time steps as one graph per device. If steps contain loops of iterations, each loop gets a graph of its own.
TimeLoop::Replay TimeLoop::record(std::int64_t steps) {
  Replay made{simulation_.recording(), steps, {}};
  const auto has_loop = [](const Task& task) { return task.loop != nullptr; };
  if (!any_of_a_period(simulation_, has_loop)) {
    made.parts.push_back({record_graphs(streams_,
                                        [&] {
                                          for (std::int64_t n = 0; n < steps; ++n) step(nullptr);
                                        }),
                          nullptr});
    return made;
  }
  for (std::int64_t n = 0; n < steps; ++n) {
    const Tasks& tasks = simulation_.tasks();
    const Task* const behind = tasks.data() + tasks.size();
    for (const Task* first = tasks.data(); first != behind;) {
      const Task* last = std::find_if(first, behind, has_loop);
      if (last != first)
        made.parts.push_back({record_graphs(streams_, [&] { run_tasks(first, last, nullptr); }), nullptr});
      first = last;
      if (last == behind) break;
      LoopCondition& ending = condition_of(*last->loop);
      const Tasks& inside = last->loop->tasks;
      Segment loop{record_graphs(streams_,
                                 [&] {
                                   run_tasks(inside.data(), inside.data() + inside.size(), nullptr);
                                   ending.count(streams_);
                                 }),
                   &ending};
      for (std::size_t d = 0; d < streams_.size(); ++d)
        loop.graphs[d] = repeat(streams_[d].device(), loop.graphs[d], ending.on(d));
      made.parts.push_back(std::move(loop));
      ++first;
    }
    simulation_.finish_step();
    ++steps_;
  }
  return made;
}

/// Replays a graph of recorded steps, if at most `steps` steps follow. A long graph has many steps, because there is a
/// pause between graphs. It is recorded if there is none, or if many more steps are possible. If few steps are left, a
/// graph of one period is used. Returns false if the graph begins with another step than the next one.
bool TimeLoop::replay(std::int64_t steps) {
  const Recording now = simulation_.recording();
  const std::int64_t most = now.period > 0 ? std::min(steps, most_replayed) / now.period * now.period : 0;
  if (most == 0) return false;
  const auto fits = [&](const std::optional<Replay>& replay) {
    return replay && replay->of.period == now.period && replay->of.serial == now.serial;
  };
  const bool few = fits(replays_[1]) && steps < replays_[1]->steps;
  std::optional<Replay>& replay = replays_[few ? 0 : 1];
  if (fits(replay) && (few || most < 2 * replay->steps)) {
    if (replay->of.phase != now.phase) return false;
    for (std::int64_t n = 0; n < replay->steps; ++n) simulation_.finish_step();
    steps_ += replay->steps;
  } else {
    replay.reset();
    replay = record(few ? now.period : most);
  }
  for (const Segment& part : replay->parts) {
    if (part.condition) part.condition->reset(streams_);
    for (std::size_t d = 0; d < streams_.size(); ++d) part.graphs[d].launch(streams_[d]);
  }
  return true;
}

/// Adds the time between successive events (marks, on any streams) to the total of the task that the later one names.
void TimeLoop::collect(const Marks& marks) {
  double latest = 0;
  for (const Mark& mark : marks) {
    const double now = std::max(latest, milliseconds(marks.front().event, mark.event));
    const double spent = now - latest;
    latest = now;
    if (mark.name.empty()) continue;
    const auto found =
        std::find_if(sums_.begin(), sums_.end(), [&](const auto& sum) { return sum.first == mark.name; });
    if (found == sums_.end()) {
      sums_.emplace_back(mark.name, spent);
    } else {
      found->second += spent;
    }
  }
  ++sampled_;
}

void TimeLoop::guard(const Communicator& comm, GuardOptions options) {
  guard_ = std::make_unique<Guard>(comm, simulation_.watched(), std::move(options));
}

void TimeLoop::inspect() {
  if (!guard_) return;
  guard_->inspect(streams_, simulation_.state().step);
  stop_if_diverged();
}

void TimeLoop::stop_if_diverged() {
  const auto finding = guard_->look();
  // A value that overflowed its coding arrives as infinity. The overflow is the cause, so it is reported first.
  check_exchanges(simulation_, used_);
  if (!finding) return;
  for (Stream& stream : streams_) stream.synchronize();
  throw Diverged(*finding, guard_->explain(*finding));
}

void TimeLoop::run(std::int64_t steps) {
  // events after queued steps, with the number of steps before; they limit how far the host runs ahead
  std::deque<std::pair<std::int64_t, Event>> ahead;
  std::vector<Marks> samples;
  simulation_.begin_steps();
  const bool may_replay = recordable();
  const std::int64_t end = simulation_.state().step + steps;
  for (std::int64_t at = simulation_.state().step; at < end; at = simulation_.state().step) {
    const auto until = [](std::int64_t from, std::int64_t every, std::int64_t rest) {
      return (rest + every - from % every) % every;
    };
    // A timed step is run by itself, not in a graph; a guard limits how many steps are queued before its next check.
    std::int64_t next = std::min(end - at, until(steps_, sample_every, sample_every / 2));
    if (guard_) next = std::min(next, guard_->every() - at % guard_->every());
    const bool sample = until(steps_, sample_every, sample_every / 2) == 0;
    if (sample) samples.emplace_back();
    if (!may_replay || !replay(next)) step(sample ? &samples.back() : nullptr);
    if (guard_ && simulation_.state().step % guard_->every() == 0) {
      stop_if_diverged();
      guard_->inspect(streams_, simulation_.state().step);
    }
    ahead.emplace_back(simulation_.state().step, Event(streams_.front().device()));
    streams_.front().record(ahead.back().second);
    while (ahead.front().first + queue_depth < simulation_.state().step) {
      ahead.front().second.synchronize();
      ahead.pop_front();
    }
  }
  for (Stream& stream : streams_) stream.synchronize();
  check_exchanges(simulation_, used_);
  for (const Tasks* tasks : all_tasks(simulation_)) check_collectives(*tasks);
  if (guard_) stop_if_diverged();
  for (const Marks& marks : samples) collect(marks);
}

std::vector<TimeLoop::Phase> TimeLoop::phases() const {
  std::vector<Phase> phases;
  for (const auto& [name, sum] : sums_)
    phases.push_back({name, steps_, sum / 1e3 / static_cast<double>(sampled_) * static_cast<double>(steps_)});
  return phases;
}

}  // namespace slipstream
