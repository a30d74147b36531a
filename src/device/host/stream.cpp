#include "device/host/stream.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <slipstream/device/host/launch.hpp>
#include <slipstream/error.hpp>

#include "device/host/omission.hpp"

namespace slipstream::host {

#if defined(SLIPSTREAM_KERNELS_ON_WORKER)
// Counters of waits. Memory order is relaxed, because they must not order the threads under test.
static std::atomic<int> wait_to_omit{0}, waits{0};

bool left_out() {
  return waits.fetch_add(1, std::memory_order_relaxed) + 1 == wait_to_omit.load(std::memory_order_relaxed);
}

void omit_wait(int n) {
  wait_to_omit.store(n, std::memory_order_relaxed);
  waits.store(0, std::memory_order_relaxed);
}

int waits_counted() { return waits.load(std::memory_order_relaxed); }
#endif

namespace {

using Task = std::function<void()>;

/// One time at which an event was recorded.
class Point {
 public:
  void reach() {
    when_ = std::chrono::steady_clock::now().time_since_epoch();
    when_.notify_all();
  }
  void wait() const { when_.wait(not_yet); }
  bool reached() const { return when() != not_yet; }
  std::chrono::nanoseconds when() const { return when_; }

 private:
  static constexpr std::chrono::nanoseconds not_yet{0};
  std::atomic<std::chrono::nanoseconds> when_ = not_yet;
};

class HostStream;

/// The operations that the streams of a capture recorded, in the order of the host's calls.
struct Capture {
  enum class Kind { task, record, wait };
  struct Op {
    Kind kind;
    int lane;
    int recording;  // index in the capture of the event record that this operation makes (record) or waits for (wait)
    Task task;
  };
  std::vector<Op> ops;
  std::vector<HostStream*> streams;
  std::vector<Device> lanes;
  std::vector<std::shared_ptr<const detail::Used>> used;
  int recordings = 0;
};

class HostEvent final : public detail::EventImpl {
 public:
  explicit HostEvent(Device device) : EventImpl(device) {}
  bool done() const override {
    const auto latest = point_outside("asked for");
    return !latest || latest->reached();
  }
  void synchronize() const override {
    if (const auto latest = point_outside("waited for")) latest->wait();
  }
  double milliseconds_since(const EventImpl& earlier) const override {
    const auto from = static_cast<const HostEvent&>(earlier).point(), to = point();
    require(from && to && from->reached() && to->reached(), ErrorCode::wrong_state,
            "an event was timed before the work it marks was done");
    return std::chrono::duration<double, std::milli>(to->when() - from->when()).count();
  }

  std::shared_ptr<Point> point() const {
    std::lock_guard lock(mutex_);
    return point_;
  }
  void set_point(std::shared_ptr<Point> point) {
    std::lock_guard lock(mutex_);
    point_ = std::move(point);
    capture.reset();
    recording = -1;
  }
  /// Marks the event as recorded in a stream capture. Queries are errors, as in CUDA, until it is recorded outside one.
  void set_captured(const std::shared_ptr<Capture>& by, int number) {
    std::lock_guard lock(mutex_);
    capture = by;
    recording = number;
  }
  // The capture in which the event was recorded last, and the index of that recording; -1: in none.
  std::weak_ptr<Capture> capture;
  int recording = -1;

 private:
  /// The event's last recording. An event captured into a graph cannot be queried; CUDA refuses it, too.
  std::shared_ptr<Point> point_outside(const char* what) const {
    std::lock_guard lock(mutex_);
    require(recording < 0, ErrorCode::wrong_state,
            std::string("an event that was recorded in a capture last was ") + what);
    return point_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<Point> point_;
};

/// Random delays before each task, to expose missing dependencies (SLIPSTREAM_CHAOS=seed).
class Chaos {
 public:
  Chaos() {
    if (const char* seed = std::getenv("SLIPSTREAM_CHAOS")) {
      on_ = true;
      static std::atomic<unsigned> streams{0};
      random_.seed(static_cast<unsigned>(std::atoi(seed)) * 7919u + streams++);
    }
  }
  void pause() {
    if (on_ && random_() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 800));
  }

 private:
  bool on_ = false;
  std::minstd_rand random_;
};

HostEvent& host_event(detail::EventImpl& event) {
  require(event.device.backend == Backend::host, ErrorCode::mismatch,
          "an event of another backend was given to a host stream");
  return static_cast<HostEvent&>(event);
}

std::mutex registry_mutex;
std::set<HostStream*> registry;

/// A stream of the host backend: a queue of tasks with its own worker thread.
class HostStream final : public detail::StreamImpl {
 public:
  explicit HostStream(Device device) : StreamImpl(device), worker_([this] { serve(); }) {
    std::lock_guard lock(registry_mutex);
    registry.insert(this);
  }

  ~HostStream() override {
    {
      std::lock_guard lock(registry_mutex);
      registry.erase(this);
    }
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  void* native() const override { return nullptr; }
  std::uint64_t id() const override { return id_; }
  void record(std::shared_ptr<detail::EventImpl> event) override {
    HostEvent& host = host_event(*event);
    if (capture_) {
      host.set_captured(capture_, capture_->recordings++);
      capture_->ops.push_back({Capture::Kind::record, lane_, host.recording, nullptr});
      return;
    }
    auto point = std::make_shared<Point>();
    host.set_point(point);
    enqueue([point] { point->reach(); });
  }

  void wait(std::shared_ptr<detail::EventImpl> event) override {
    HostEvent& host = host_event(*event);
    if (const auto capture = host.capture.lock()) {
      if (!capture_) join(capture);
      require(capture_ == capture, ErrorCode::wrong_state,
              "a captured stream must not wait for an event of another capture");
      capture_->ops.push_back({Capture::Kind::wait, lane_, host.recording, nullptr});
      return;
    }
    require(!capture_, ErrorCode::wrong_state, "a captured stream waited for an event from outside the capture");
    if (left_out()) return;
    if (const auto point = host.point()) enqueue([point] { point->wait(); });
  }

  void synchronize() override {
    require(!capture_, ErrorCode::wrong_state, "a stream was synchronised while it is captured");
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  bool idle() const override {
    std::lock_guard lock(mutex_);
    return queue_.empty() && !busy_;
  }

  void begin_capture() override {
    require(!capture_, ErrorCode::wrong_state, "a stream's capture was begun twice");
    join(std::make_shared<Capture>());
  }

  bool capturing() const override { return capture_ != nullptr; }
  void uses(const std::shared_ptr<const detail::Used>& used) override {
    if (!capture_) return;
    auto& all = capture_->used;
    if (std::find(all.begin(), all.end(), used) == all.end()) all.push_back(used);
  }

  std::shared_ptr<Graph::Impl> end_capture() override;
  void copy(void* to, const void* from, std::size_t bytes) override {
    submit([=] { std::memcpy(to, from, bytes); });
  }

  void fill(void* to, unsigned char value, std::size_t bytes) override {
    submit([=] { std::memset(to, value, bytes); });
  }

  void copy_box(void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent) override {
    submit([=] {
      for (std::int64_t k = 0; k < extent[2]; ++k)
        for (std::int64_t j = 0; j < extent[1]; ++j)
          std::memcpy(static_cast<char*>(to) + k * to_pitch.plane + j * to_pitch.row,
                      static_cast<const char*>(from) + k * from_pitch.plane + j * from_pitch.row, extent[0]);
    });
  }

  /// Waits for all streams of a virtual device, then throws an error of one stream. That stream keeps the error for its
  /// own synchronize().
  static void synchronize_all(int device) {
    std::lock_guard lock(registry_mutex);
    std::exception_ptr first;
    for (HostStream* stream : registry) {
      if (stream->device.index != device || stream->capture_) continue;
      std::unique_lock drained(stream->mutex_);
      stream->changed_.wait(drained, [&] { return stream->queue_.empty() && !stream->busy_; });
      if (!first) first = stream->error_;
    }
    if (first) std::rethrow_exception(first);
  }

  /// Queues a task, or records it while the stream is being captured.
  void submit(Task task) {
    if (capture_) {
      capture_->ops.push_back({Capture::Kind::task, lane_, -1, std::move(task)});
    } else {
      enqueue(std::move(task));
    }
  }

  /// Queues a task even while the stream is being captured; used by replays of graphs.
  void enqueue(Task task) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(task));
    }
    changed_.notify_all();
  }

 private:
  void join(const std::shared_ptr<Capture>& capture) {
    capture_ = capture;
    lane_ = static_cast<int>(capture->streams.size());
    capture->streams.push_back(this);
    capture->lanes.push_back(device);
  }

  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  void serve() {
    Chaos chaos;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      Task task = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      lock.unlock();
      chaos.pause();
      std::exception_ptr thrown;
      try {
        task();
      } catch (...) {
        thrown = std::current_exception();
      }
      task = nullptr;
      lock.lock();
      if (thrown && !error_) error_ = thrown;
      busy_ = false;
      if (queue_.empty()) changed_.notify_all();
    }
  }

  const std::uint64_t id_ = next_id();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  bool busy_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::shared_ptr<Capture> capture_;
  int lane_ = 0;
  std::thread worker_;
};

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

/// Ends the capture of work on this stream and those that joined it. Returns the captured work as a graph.
std::shared_ptr<Graph::Impl> HostStream::end_capture() {
  require(capture_ != nullptr, ErrorCode::wrong_state, "a capture was ended that was not begun");
  const auto capture = capture_;
  for (HostStream* stream : capture->streams) stream->capture_.reset();
  require(capture->streams.front() == this, ErrorCode::wrong_state,
          "a capture was ended on another stream than it was begun on");
  // Every task must be reachable backwards from the end of the capture's first stream.
  std::vector<bool> joined(capture->streams.size(), false), wanted(capture->recordings, false);
  joined[0] = true;
  bool loose = false;
  for (auto op = capture->ops.rbegin(); op != capture->ops.rend(); ++op) {
    if (op->kind == Capture::Kind::record && wanted[op->recording]) joined[op->lane] = true;
    if (op->kind == Capture::Kind::wait && joined[op->lane]) wanted[op->recording] = true;
    if (op->kind == Capture::Kind::task && !joined[op->lane]) loose = true;
  }
  require(!loose, ErrorCode::wrong_state,
          "a capture ended while work of another stream was not joined to it by an event");
  auto graph = std::make_shared<HostGraph>(std::move(capture->ops), capture->lanes, capture->recordings);
  graph->used = capture->used;
  return graph;
}

}  // namespace

std::unique_ptr<detail::StreamImpl> make_stream(Device device) { return std::make_unique<HostStream>(device); }

std::shared_ptr<detail::EventImpl> make_event(Device device) { return std::make_shared<HostEvent>(device); }

void synchronize_streams(int device) { HostStream::synchronize_all(device); }

}  // namespace slipstream::host

namespace slipstream::detail {

void submit(StreamImpl& stream, std::function<void()> task) {
  static_cast<host::HostStream&>(stream).submit(std::move(task));
}

}  // namespace slipstream::detail
