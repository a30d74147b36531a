#include <algorithm>
#include <deque>

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
  for (const Device device : simulation.devices()) streams_.emplace_back(device);
}

void TimeLoop::step(std::vector<Mark>* marks) {
  const HostSpan span(trace_, "step", "step");
  const auto mark = [&](const std::string& name) {
    if (!marks) return;
    marks->push_back({name, Event(streams_.front().device(), true)});
    streams_.front().record(marks->back().event);
  };
  const auto compute = [&](const Stage& stage, Part part) {
    const char* const name = part == Part::all ? "compute" : part == Part::interior ? "interior" : "rim";
    for (std::size_t d = 0; d < streams_.size(); ++d) {
      const DeviceSpan span(trace_, streams_[d], "solver", name, "compute");
      stage.compute(streams_[d], d, part);
    }
  };
  for (const Stage& stage : simulation_.stages()) {
    mark("");
    if (stage.prepare)
      for (std::size_t d = 0; d < streams_.size(); ++d) {
        const DeviceSpan span(trace_, streams_[d], "solver", "prepare", "compute");
        stage.prepare(streams_[d], d);
      }
    mark(stage.name + " prepare");
    if (stage.exchange) {
      used_.insert(stage.exchange);
      stage.exchange->begin(streams_);
    }
    if (stage.exchange && overlap_) {
      compute(stage, Part::interior);
      mark(stage.name + " interior");
      stage.exchange->end(streams_);
      mark(stage.name + " exchange not hidden");
      compute(stage, Part::rim);
      mark(stage.name + " rim");
    } else {
      if (stage.exchange) stage.exchange->end(streams_);
      mark(stage.name + " exchange");
      compute(stage, Part::all);
      mark(stage.name + " compute");
    }
  }
  simulation_.finish_step();
  ++steps_;
}

void TimeLoop::collect(const std::vector<Mark>& marks) {
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (marks[i].name.empty()) continue;
    const double spent = milliseconds(marks[i - 1].event, marks[i].event);
    const auto found =
        std::find_if(sums_.begin(), sums_.end(), [&](const auto& sum) { return sum.first == marks[i].name; });
    if (found == sums_.end()) {
      sums_.emplace_back(marks[i].name, spent);
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
  std::deque<Event> ahead;
  std::vector<std::vector<Mark>> samples;
  simulation_.begin_steps();
  for (std::int64_t s = 0; s < steps; ++s) {
    const bool sample = steps_ % sample_every == sample_every / 2;
    if (sample) samples.emplace_back();
    step(sample ? &samples.back() : nullptr);
    if (guard_ && simulation_.state().step % guard_->every() == 0) {
      stop_if_diverged();
      guard_->inspect(streams_, simulation_.state().step);
    }
    ahead.emplace_back(streams_.front().device());
    streams_.front().record(ahead.back());
    if (static_cast<std::int64_t>(ahead.size()) > queue_depth) {
      ahead.front().synchronize();
      ahead.pop_front();
    }
  }
  for (Stream& stream : streams_) stream.synchronize();
  for (Exchange* exchange : used_) exchange->check();
  if (guard_) stop_if_diverged();
  for (const auto& marks : samples) collect(marks);
}

std::vector<TimeLoop::Phase> TimeLoop::phases() const {
  std::vector<Phase> phases;
  for (const auto& [name, sum] : sums_)
    phases.push_back({name, steps_, sum / 1e3 / static_cast<double>(sampled_) * static_cast<double>(steps_)});
  return phases;
}

}  // namespace slipstream
