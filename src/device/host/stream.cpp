#include "device/host/stream.hpp"

#include <cstdlib>
#include <cstring>
#include <set>

#include <slipstream/device/host/launch.hpp>
#include <slipstream/error.hpp>

#include "device/host/omission.hpp"

namespace slipstream::host {

void Point::reach() {
  {
    std::lock_guard lock(mutex_);
    reached_ = true;
    when_ = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

void Point::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_; });
}

bool Point::reached() {
  std::lock_guard lock(mutex_);
  return reached_;
}

std::chrono::steady_clock::time_point Point::when() {
  std::lock_guard lock(mutex_);
  return when_;
}

std::shared_ptr<Point> HostEvent::point() const {
  std::lock_guard lock(mutex_);
  return point_;
}

void HostEvent::set_point(std::shared_ptr<Point> point) {
  std::lock_guard lock(mutex_);
  point_ = std::move(point);
  captured_ = false;
}

void HostEvent::set_captured() {
  std::lock_guard lock(mutex_);
  captured_ = true;
}

/// The event's last recording. An event captured into a graph cannot be queried; CUDA refuses it, too.
std::shared_ptr<Point> HostEvent::point_outside(const char* what) const {
  std::lock_guard lock(mutex_);
  require(!captured_, ErrorCode::wrong_state, std::string("an event that was recorded in a capture last was ") + what);
  return point_;
}

bool HostEvent::done() const {
  const auto latest = point_outside("asked for");
  return !latest || latest->reached();
}

void HostEvent::synchronize() const {
  if (const auto latest = point_outside("waited for")) latest->wait();
}

double HostEvent::milliseconds_since(const EventImpl& earlier) const {
  const auto from = static_cast<const HostEvent&>(earlier).point(), to = point();
  require(from && to && from->reached() && to->reached(), ErrorCode::wrong_state,
          "an event was timed before the work it marks was done");
  return std::chrono::duration<double, std::milli>(to->when() - from->when()).count();
}

namespace {

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

#if defined(SLIPSTREAM_KERNELS_ON_WORKER)
// Counters of waits. Memory order is relaxed, because they must not order the threads under test.
std::atomic<int> wait_to_omit{0}, waits{0};
#endif

}  // namespace

#if defined(SLIPSTREAM_KERNELS_ON_WORKER)
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
std::mutex registry_mutex;
std::set<HostStream*> registry;
}  // namespace

std::uint64_t HostStream::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

HostStream::HostStream(Device device) : StreamImpl(device), worker_([this] { serve(); }) {
  std::lock_guard lock(registry_mutex);
  registry.insert(this);
}

void HostStream::synchronize_all(int device) {
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

HostStream::~HostStream() {
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

void HostStream::serve() {
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

void HostStream::enqueue(Task task) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void HostStream::submit(Task task) {
  if (capture_) {
    capture_->add_task(*this, std::move(task));
  } else {
    enqueue(std::move(task));
  }
}

void HostStream::record(std::shared_ptr<detail::EventImpl> event) {
  HostEvent& host = host_event(*event);
  if (capture_) {
    capture_->add_record(*this, host);
    return;
  }
  auto point = std::make_shared<Point>();
  host.capture.reset();
  host.set_point(point);
  enqueue([point] { point->reach(); });
}

void HostStream::wait(std::shared_ptr<detail::EventImpl> event) {
  HostEvent& host = host_event(*event);
  if (const auto capture = host.capture.lock()) {
    capture->add_wait(*this, host);
    return;
  }
  require(!capture_, ErrorCode::wrong_state, "a captured stream waited for an event from outside the capture");
  if (left_out()) return;
  if (const auto point = host.point()) enqueue([point] { point->wait(); });
}

void HostStream::synchronize() {
  require(!capture_, ErrorCode::wrong_state, "a stream was synchronised while it is captured");
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

bool HostStream::idle() const {
  std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

void HostStream::copy(void* to, const void* from, std::size_t bytes) {
  submit([=] { std::memcpy(to, from, bytes); });
}

void HostStream::fill(void* to, unsigned char value, std::size_t bytes) {
  submit([=] { std::memset(to, value, bytes); });
}

void HostStream::copy_box(void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent) {
  submit([=] {
    for (std::int64_t k = 0; k < extent[2]; ++k)
      for (std::int64_t j = 0; j < extent[1]; ++j)
        std::memcpy(static_cast<char*>(to) + k * to_pitch.plane + j * to_pitch.row,
                    static_cast<const char*>(from) + k * from_pitch.plane + j * from_pitch.row, extent[0]);
  });
}

}  // namespace slipstream::host

namespace slipstream::detail {

void submit(StreamImpl& stream, std::function<void()> task) {
  static_cast<host::HostStream&>(stream).submit(std::move(task));
}

}  // namespace slipstream::detail
