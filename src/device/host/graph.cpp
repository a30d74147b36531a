#include <algorithm>

#include <slipstream/error.hpp>

#include "device/host/omission.hpp"
#include "device/host/stream.hpp"

namespace slipstream::host {
namespace {

HostStream& host_stream(detail::StreamImpl& stream) {
  require(stream.device.backend == Backend::host, ErrorCode::mismatch,
          "a host graph was launched on a stream of another backend");
  return static_cast<HostStream&>(stream);
}

/// Replays recorded work of several streams. The work of the capture's first stream runs on the launching stream, that
/// of each other stream on a separate stream. Recorded concurrency is thus preserved.
class HostGraph final : public Graph::Impl {
 public:
  HostGraph(std::vector<Capture::Op> ops, const std::vector<Device>& lanes, int recordings)
      : ops_(std::move(ops)), recordings_(recordings), device_(lanes.front()) {
    for (std::size_t lane = 1; lane < lanes.size(); ++lane) own_.push_back(std::make_unique<HostStream>(lanes[lane]));
  }

  void launch(detail::StreamImpl& stream) override {
    HostStream& origin = host_stream(stream);
    std::vector<std::shared_ptr<Point>> points(recordings_);
    for (auto& point : points) point = std::make_shared<Point>();
    for (const auto& op : ops_) {
      HostStream& lane = op.lane == 0 ? origin : *own_[op.lane - 1];
      const auto point = op.recording >= 0 ? points[op.recording] : nullptr;
      switch (op.kind) {
        case Capture::Kind::task:
          lane.enqueue(op.task);
          break;
        case Capture::Kind::record:
          lane.enqueue([point] { point->reach(); });
          break;
        case Capture::Kind::wait:
          if (!left_out()) lane.enqueue([point] { point->wait(); });
          break;
      }
    }
  }

  std::shared_ptr<Impl> repeated(const std::shared_ptr<Impl>& self, const std::int32_t* again) const override;

  std::size_t nodes() const override {
    return std::count_if(ops_.begin(), ops_.end(), [](const auto& op) { return op.kind == Capture::Kind::task; });
  }

 private:
  std::vector<Capture::Op> ops_;
  std::vector<std::unique_ptr<HostStream>> own_;
  int recordings_;
  Device device_;
};

/// A repeated graph. The stream's worker replays the body on another stream and reads the condition after each replay.
class HostLoop final : public Graph::Impl {
 public:
  HostLoop(std::shared_ptr<Graph::Impl> body, Device device, const std::int32_t* again)
      : body_(std::move(body)), own_(std::make_shared<HostStream>(device)), again_(again) {}

  void launch(detail::StreamImpl& stream) override {
    host_stream(stream).enqueue([body = body_, own = own_, again = again_] {
      do {
        body->launch(*own);
        own->synchronize();
      } while (*again != 0);
    });
  }
  std::size_t nodes() const override { return body_->nodes(); }
  std::shared_ptr<Impl> repeated(const std::shared_ptr<Impl>&, const std::int32_t*) const override {
    throw Error(ErrorCode::unsupported, "a graph that repeats another one cannot be repeated itself");
  }

 private:
  std::shared_ptr<Graph::Impl> body_;
  std::shared_ptr<HostStream> own_;
  const std::int32_t* again_;
};

std::shared_ptr<Graph::Impl> HostGraph::repeated(const std::shared_ptr<Impl>& self, const std::int32_t* again) const {
  return std::make_shared<HostLoop>(self, device_, again);
}

}  // namespace

void Capture::join(HostStream& stream) {
  stream.capture_ = shared_from_this();
  stream.lane_ = static_cast<int>(streams_.size());
  streams_.push_back(&stream);
  lanes_.push_back(stream.device);
}

void Capture::add_task(HostStream& stream, Task task) {
  ops_.push_back({Kind::task, stream.lane_, -1, std::move(task)});
}

void Capture::add_record(HostStream& stream, HostEvent& event) {
  event.capture = weak_from_this();
  event.recording = recordings_++;
  event.set_captured();
  ops_.push_back({Kind::record, stream.lane_, event.recording, nullptr});
}

void Capture::add_wait(HostStream& stream, const HostEvent& event) {
  if (!stream.capture_) join(stream);
  require(stream.capture_.get() == this, ErrorCode::wrong_state,
          "a captured stream must not wait for an event of another capture");
  ops_.push_back({Kind::wait, stream.lane_, event.recording, nullptr});
}

void Capture::add_used(const std::shared_ptr<const detail::Used>& used) {
  if (std::find(used_.begin(), used_.end(), used) == used_.end()) used_.push_back(used);
}

std::vector<Capture::Op> Capture::finish(HostStream& origin) {
  for (HostStream* stream : streams_) stream->capture_.reset();
  require(streams_.front() == &origin, ErrorCode::wrong_state,
          "a capture was ended on another stream than it was begun on");
  // Every task must be reachable backwards from the end of the capture's first stream.
  std::vector<bool> joined(streams_.size(), false), wanted(recordings_, false);
  joined[0] = true;
  bool loose = false;
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
    if (op->kind == Kind::record && wanted[op->recording]) joined[op->lane] = true;
    if (op->kind == Kind::wait && joined[op->lane]) wanted[op->recording] = true;
    if (op->kind == Kind::task && !joined[op->lane]) loose = true;
  }
  require(!loose, ErrorCode::wrong_state,
          "a capture ended while work of another stream was not joined to it by an event");
  return std::move(ops_);
}

void HostStream::begin_capture() {
  require(!capture_, ErrorCode::wrong_state, "a stream's capture was begun twice");
  std::make_shared<Capture>()->begin(*this);
}

void HostStream::uses(const std::shared_ptr<const detail::Used>& used) {
  if (capture_) capture_->add_used(used);
}

std::shared_ptr<Graph::Impl> HostStream::end_capture() {
  require(capture_ != nullptr, ErrorCode::wrong_state, "a capture was ended that was not begun");
  const auto capture = capture_;
  auto ops = capture->finish(*this);
  auto graph = std::make_shared<HostGraph>(std::move(ops), capture->lanes(), capture->recordings());
  graph->used = capture->used();
  return graph;
}

}  // namespace slipstream::host
