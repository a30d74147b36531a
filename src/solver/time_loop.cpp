#include <algorithm>
#include <deque>

#include <slipstream/error.hpp>
#include <slipstream/simulation.hpp>
#include <slipstream/trace.hpp>

namespace slipstream {
namespace {

bool worth_overlapping(const Simulation& simulation) {
  for (const Stage& stage : simulation.stages()) {
    if (!stage.exchange) continue;
    for (const MessageInfo& message : stage.exchange->messages())
      if (message.route != RouteKind::kernel && simulation.devices().front().backend == Backend::cuda) return true;
  }
  return false;
}

}  // namespace

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
    if (overlap_) rim_streams_.emplace_back(device, Priority::high);
  }
}

void TimeLoop::mark(Marks* marks, const std::string& name, Stream& stream) {
  if (!marks) return;
  marks->push_back({name, Event(stream.device(), true)});
  stream.record(marks->back().event);
}

void TimeLoop::compute(const Stage& stage, Part part, std::vector<Stream>& streams) {
  const char* const name = part == Part::all ? "compute" : part == Part::interior ? "interior" : "rim";
  for (std::size_t d = 0; d < streams.size(); ++d) {
    const DeviceSpan span(trace_, streams[d], part == Part::rim ? "rim" : "solver", name, "compute");
    stage.compute(streams[d], d, part);
  }
}

/// The exchange, and the rim after it, on streams of their own.
void TimeLoop::beside_interior(const Stage& stage, Marks* marks) {
  stage.exchange->begin(streams_);
  for (std::size_t d = 0; d < streams_.size(); ++d) {
    const Event ready(streams_[d].device());
    streams_[d].record(ready);
    rim_streams_[d].wait(ready);
  }
  compute(stage, Part::interior, streams_);
  mark(marks, stage.name + " interior", streams_.front());
  stage.exchange->end(rim_streams_);
  mark(marks, stage.name + " exchange not hidden", rim_streams_.front());
  compute(stage, Part::rim, rim_streams_);
  for (std::size_t d = 0; d < streams_.size(); ++d) {
    const Event done(streams_[d].device());
    rim_streams_[d].record(done);
    streams_[d].wait(done);
  }
  mark(marks, stage.name + " rim", streams_.front());
}

void TimeLoop::run_stage(const Stage& stage, Marks* marks) {
  mark(marks, "", streams_.front());
  if (stage.prepare)
    for (std::size_t d = 0; d < streams_.size(); ++d) {
      const DeviceSpan span(trace_, streams_[d], "solver", "prepare", "compute");
      stage.prepare(streams_[d], d);
    }
  mark(marks, stage.name + " prepare", streams_.front());
  if (stage.exchange) {
    used_.insert(stage.exchange);
    if (overlap_) return beside_interior(stage, marks);
    stage.exchange->run(streams_);
  }
  mark(marks, stage.name + " exchange", streams_.front());
  compute(stage, Part::all, streams_);
  mark(marks, stage.name + " compute", streams_.front());
}

void TimeLoop::step(Marks* marks) {
  const HostSpan span(trace_, "step", "step");
  for (const Stage& stage : simulation_.stages()) run_stage(stage, marks);
  simulation_.finish_step();
  ++steps_;
}

/// A trace shows single steps.
bool TimeLoop::recordable() const {
  const std::vector<Stage>& stages = simulation_.stages();
  return !trace_ && std::all_of(stages.begin(), stages.end(), [](const Stage& stage) {
    return !stage.exchange || (stage.exchange->capturable() && stage.exchange->limited_in_graphs());
  });
}

TimeLoop::Replay TimeLoop::record(std::int64_t steps) {
  Replay made{simulation_.recording(), steps, {}};
  for (Stream& stream : streams_) stream.begin_capture();
  try {
    for (std::int64_t n = 0; n < steps; ++n) step(nullptr);
  } catch (...) {
    for (Stream& stream : streams_) {
      try {
        stream.end_capture();
      } catch (const Error&) {
        // It has ended all the same; why it had to is told instead.
      }
    }
    throw;
  }
  for (Stream& stream : streams_) made.graphs.push_back(stream.end_capture());
  return made;
}

/// Recorded steps, where as many as `steps` may be queued at once: many in a graph, for there is a pause between
/// graphs, recorded where there are none or where many more may be; or one period, where too few are left. False where
/// the graph begins with another step than the next.
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
  for (std::size_t d = 0; d < streams_.size(); ++d) replay->graphs[d].launch(streams_[d]);
  return true;
}

/// Times run from the first mark, on whatever stream the others were made.
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
  if (!finding) return;
  for (Stream& stream : streams_) stream.synchronize();
  throw Diverged(*finding, guard_->explain(*finding));
}

void TimeLoop::run(std::int64_t steps) {
  std::deque<std::pair<std::int64_t, Event>> ahead;  // with the steps that had been queued
  std::vector<Marks> samples;
  simulation_.begin_steps();
  const bool may_replay = recordable();
  const std::int64_t end = simulation_.state().step + steps;
  for (std::int64_t at = simulation_.state().step; at < end; at = simulation_.state().step) {
    const auto until = [](std::int64_t from, std::int64_t every, std::int64_t rest) {
      return (rest + every - from % every) % every;
    };
    // Single steps where one is timed, and none too many before a guard looks.
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
  for (Exchange* exchange : used_) exchange->check();
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
