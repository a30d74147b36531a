#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "device/backend.hpp"

namespace slipstream::host {

using Task = std::function<void()>;

/// One time at which an event was recorded.
class Point {
 public:
  void reach();
  void wait();
  bool reached();
  std::chrono::steady_clock::time_point when();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::chrono::steady_clock::time_point when_;
};

class Capture;

class HostEvent final : public detail::EventImpl {
 public:
  explicit HostEvent(Device device) : EventImpl(device) {}
  bool done() const override;
  void synchronize() const override;
  double milliseconds_since(const EventImpl& earlier) const override;

  std::shared_ptr<Point> point() const;
  void set_point(std::shared_ptr<Point> point);
  /// Marks the event as captured; it must not be queried until the next set_point().
  void set_captured();
  // The capture in which the event was recorded last, and the index of that recording.
  std::weak_ptr<Capture> capture;
  int recording = -1;

 private:
  std::shared_ptr<Point> point_outside(const char* what) const;
  mutable std::mutex mutex_;
  std::shared_ptr<Point> point_;
  bool captured_ = false;
};

/// A stream of the host backend: a queue of tasks with its own worker thread.
class HostStream final : public detail::StreamImpl {
 public:
  explicit HostStream(Device device);
  ~HostStream() override;
  void* native() const override { return nullptr; }
  std::uint64_t id() const override { return id_; }
  void record(std::shared_ptr<detail::EventImpl> event) override;
  void wait(std::shared_ptr<detail::EventImpl> event) override;
  void synchronize() override;
  bool idle() const override;
  void begin_capture() override;
  bool capturing() const override { return capture_ != nullptr; }
  void uses(const std::shared_ptr<const detail::Used>& used) override;
  std::shared_ptr<Graph::Impl> end_capture() override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void fill(void* to, unsigned char value, std::size_t bytes) override;
  void copy_box(void* to, Pitch to_pitch, const void* from, Pitch from_pitch, const Extent& extent) override;

  /// Waits for all streams of a virtual device, then throws an error of one stream. That stream keeps the error for its
  /// own synchronize().
  static void synchronize_all(int device);
  /// Queues a task, or records it while the stream is being captured.
  void submit(Task task);
  /// Queues a task even while the stream is being captured; used by replays of graphs.
  void enqueue(Task task);

 private:
  friend class Capture;
  static std::uint64_t next_id();
  void serve();
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

/// The operations that the streams of a capture recorded, in the order of the host's calls.
class Capture : public std::enable_shared_from_this<Capture> {
 public:
  enum class Kind { task, record, wait };
  struct Op {
    Kind kind;
    int lane;
    int recording;  // index of the event's recording that is made or waited for
    Task task;
  };
  void begin(HostStream& origin) { join(origin); }
  void add_task(HostStream& stream, Task task);
  void add_record(HostStream& stream, HostEvent& event);
  void add_wait(HostStream& stream, const HostEvent& event);
  void add_used(const std::shared_ptr<const detail::Used>& used);
  /// Ends the capture for all its streams. Throws if a stream was not joined to the origin.
  std::vector<Op> finish(HostStream& origin);
  std::vector<Device> lanes() const { return lanes_; }
  int recordings() const { return recordings_; }
  const std::vector<std::shared_ptr<const detail::Used>>& used() const { return used_; }

 private:
  void join(HostStream& stream);
  std::vector<Op> ops_;
  std::vector<HostStream*> streams_;
  std::vector<Device> lanes_;
  std::vector<std::shared_ptr<const detail::Used>> used_;
  int recordings_ = 0;
};

}  // namespace slipstream::host
